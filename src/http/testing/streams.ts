/** Streams over a real socket, read chunk by chunk. */
import { afterEach, expect } from "vitest";
import { choicePart, fakeServer, logprobsOf, partsOf, type Script, usage } from "./fake-server.ts";
import { chunksOf, listen, RawClient } from "./raw-client.ts";

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A listening server and a client that is connected to it. */
export async function started(...parameters: Parameters<typeof fakeServer>) {
  const app = fakeServer(...parameters);
  cleanups.push(() => app.close());
  const client = await RawClient.open(await listen(app));
  cleanups.push(() => client.close());
  return { app, client };
}

/** One choice of two tokens. */
export const twoTokens: Script = () =>
  partsOf([
    choicePart({ text: "a", logprobs: logprobsOf(["a"], 1) }, 1),
    choicePart({ text: "é", logprobs: logprobsOf(["é"], 2), finish_reason: "length" }, 2),
    { kind: "usage", usage: usage(2) },
  ]);

/** The JSON of every frame but the last, which must be [DONE]. */
export function framesOf(chunks: readonly string[]) {
  expect(chunks.at(-1)).toBe("data: [DONE]\n\n");
  return chunks.slice(0, -1).map((chunk) => {
    expect(chunk).toMatch(/^data: \{[^\n]*\}\n\n$/);
    return JSON.parse(chunk.slice("data: ".length));
  });
}

/** The end of a chunked body. */
export const endOfAnswer = "\r\n0\r\n\r\n";

/** A whole stream: all bytes of the answer, and its chunks. */
export async function streamed(body: object, script = twoTokens) {
  const { client } = await started({}, script);
  client.post({ stream: true, ...body });
  const answer = await client.until(endOfAnswer);
  return { answer, chunks: chunksOf(answer) };
}
