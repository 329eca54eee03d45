/** Standard output for commands whose output others read: pipes that close early, and slow ones. */
import { once } from "node:events";
import type { Writable } from "node:stream";
import { UserError } from "./user-error.ts";

/** Texts are written together up to this size: a call for each line would be slow. */
const batchCharacters = 32_768;

/**
 * Writes the texts as fast as they are taken, never all of them in memory. Resolves with false when
 * the reader has left (`| head`): that is no failure. Rejects with a UserError when the output
 * takes nothing else, as on a full disk.
 */
export async function print(
  texts: Iterable<string> | AsyncIterable<string>,
  output: Writable = process.stdout,
): Promise<boolean> {
  let problem: NodeJS.ErrnoException | undefined;
  const onError = (error: NodeJS.ErrnoException) => {
    problem ??= error;
  };
  output.on("error", onError);
  try {
    for await (const text of batches(texts)) {
      await write(output, text);
      if (problem !== undefined) break;
    }
  } finally {
    output.off("error", onError);
  }
  if (problem === undefined) return true;
  if (problem.code === "EPIPE") {
    // Whatever else is written later fails too, and must not end the program with a stack.
    output.on("error", () => undefined);
    return false;
  }
  throw new UserError(`the output cannot be written: ${problem.message}`);
}

/** Resolves when the text was taken, or could not be. */
async function write(output: Writable, text: string): Promise<void> {
  const taken = Promise.withResolvers<void>();
  const room = output.write(text, () => taken.resolve());
  // The event comes after the callback of a write that failed.
  await taken.promise;
  if (!room && output.writableNeedDrain && output.writable) await once(output, "drain");
  await new Promise((resolve) => setImmediate(resolve));
}

async function* batches(texts: Iterable<string> | AsyncIterable<string>): AsyncGenerator<string> {
  let batch = "";
  for await (const text of texts) {
    batch += text;
    if (batch.length < batchCharacters) continue;
    yield batch;
    batch = "";
  }
  if (batch !== "") yield batch;
}
