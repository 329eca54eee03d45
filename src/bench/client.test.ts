import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { complete, streamCompletion } from "./client.ts";

const never = new AbortController().signal;

async function serve(answer: (response: ServerResponse) => void): Promise<string> {
  const server = createServer((_, response) => answer(response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const piece = (text: string) => `data: {"choices":[{"text":"${text}","finish_reason":null}]}\n\n`;
const reason = 'data: {"choices":[{"text":"","finish_reason":"length"}]}\n\n';
const usage = 'data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":5}}\n\n';
const end = "data: [DONE]\n\n";

test.each([
  ["in one piece", [piece("a") + piece("b") + reason + usage + end]],
  ["frame by frame", [piece("a"), piece("b"), reason, usage, end]],
  ["cut between line breaks", [piece("a").slice(0, -1), `\n${piece("b")}`, reason, usage + end]],
  ["cut within a word", ['data: {"choices":[{"te', `xt":"a"}]}\n\n${piece("b")}`, usage, end]],
])("pieces with text are counted, tokens by usage: %s", async (_, parts) => {
  const url = await serve((response) => {
    const send = (index: number) => {
      const part = parts[index];
      if (part === undefined) response.end();
      else response.write(part, () => setImmediate(send, index + 1));
    };
    send(0);
  });
  const { timesMs, tokens } = await streamCompletion(url, {}, { signal: never });
  expect(timesMs).toHaveLength(2);
  expect(tokens).toBe(5);
});

test("a client that leaves gets what came", async () => {
  const url = await serve((response) => response.write(piece("a")));
  const leaving = new AbortController();
  const options = { signal: never, leave: leaving.signal, onPiece: () => leaving.abort() };
  const streamed = await streamCompletion(url, {}, options);
  expect(streamed).toMatchObject({ tokens: 0 });
  expect(streamed.timesMs).toHaveLength(1);
});

test("a stream that ends without its usage is an error, and so is a refusal", async () => {
  const short = await serve((response) => response.end(piece("a")));
  await expect(streamCompletion(short, {}, { signal: never })).rejects.toThrow("ended early");
  const refusing = await serve((response) => response.writeHead(400).end("no such thing"));
  await expect(complete(refusing, {}, never)).rejects.toThrow("400: no such thing");
});

test("the signal ends a request with an error", async () => {
  const url = await serve((response) => response.write(piece("a")));
  const stop = new AbortController();
  const options = { signal: stop.signal, onPiece: () => stop.abort() };
  await expect(streamCompletion(url, {}, options)).rejects.toThrow();
});
