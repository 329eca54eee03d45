/**
 * An engine cannot have the size or the cache format that was asked for: memory does not suffice, or
 * the model does not allow it. The message is one sentence with what would do.
 */
export class EngineSizeError extends Error {
  override readonly name = "EngineSizeError";
}

/** Memory does not suffice; the message gives the sizes and what would fit. */
export class MemoryShortError extends EngineSizeError {}
