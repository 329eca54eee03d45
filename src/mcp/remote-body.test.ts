import { expect, test } from "vitest";
import { answerBytesMax, readEvents, readText } from "./remote-body.ts";

const encoder = new TextEncoder();

function response(parts: readonly (string | Uint8Array)[]): Response {
  const bytes = parts.map((part) => (typeof part === "string" ? encoder.encode(part) : part));
  return new Response(ReadableStream.from(bytes));
}

async function events(parts: readonly (string | Uint8Array)[]): Promise<string[]> {
  return Array.fromAsync(readEvents(response(parts)));
}

test("events are found wherever the stream is cut", async () => {
  const text =
    'data: {"a":"é😀"}\n\n: a comment\n\nevent: x\ndata:b\r\ndata: c\r\n\r\ndata: [DONE]\n\n';
  const expected = ['{"a":"é😀"}', "b\nc", "[DONE]"];
  expect(await events([text])).toEqual(expected);
  const bytes = encoder.encode(text);
  expect(await events(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(expected);
});

test("an event that was not ended is none", async () => {
  expect(await events(["data: a\n\ndata: b\n"])).toEqual(["a"]);
});

test("an answer that is too long is given up", async () => {
  const part = new Uint8Array(answerBytesMax / 4).fill(0x61);
  await expect(readText(response([part, part, part, part, "a"]))).rejects.toThrow("longer than");
});
