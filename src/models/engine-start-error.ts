/** The engine could not be started on a file that looked sound. The message is for the user. */
export class EngineStartError extends Error {
  override readonly name = "EngineStartError";
}
