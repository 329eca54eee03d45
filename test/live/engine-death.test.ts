/** A real fault: the engine process is killed while streams run. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { enginePid } from "../support/engine-pid.ts";
import { type ServerProcess, startServer } from "../support/server-process.ts";

let server: ServerProcess;

beforeAll(async () => {
  server = await startServer(["--threads", "1"]);
});

afterAll(async () => {
  await server?.stop();
});

function complete(body: object): Promise<Response> {
  return fetch(`${server.url}/v1/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

interface Frames {
  readonly frames: string[];
  /** Resolves when the first text has come. */
  readonly started: Promise<void>;
  readonly ended: Promise<void>;
}

async function openStream(): Promise<Frames> {
  const body = { prompt: "Once upon a time", max_tokens: 3000, stream: true, ignore_eos: true };
  const response = await complete(body);
  expect(response.status).toBe(200);
  const frames: string[] = [];
  const started = Promise.withResolvers<void>();
  const read = async () => {
    let text = "";
    const decoder = new TextDecoder();
    for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) {
      text += decoder.decode(bytes, { stream: true });
      const parts = text.split("\n\n");
      text = parts.pop() ?? "";
      frames.push(...parts.filter((part) => part.startsWith("data: ")));
      if (frames.length > 0) started.resolve();
    }
  };
  return { frames, started: started.promise, ended: read() };
}

test("each stream ends with an error frame and the next request is answered", async () => {
  const streams = await Promise.all(Array.from({ length: 4 }, () => openStream()));
  await Promise.all(streams.map((stream) => stream.started));
  process.kill(enginePid(server), "SIGKILL");
  await Promise.all(streams.map((stream) => stream.ended));
  for (const { frames } of streams) {
    expect(frames.at(-1)).toBe("data: [DONE]");
    const error = JSON.parse((frames.at(-2) ?? "").slice("data: ".length));
    expect(error).toMatchObject({
      error: { type: "server_error", param: null, code: null, message: expect.any(String) },
    });
    const finishes = frames.slice(0, -2).map((frame) => JSON.parse(frame.slice(6)).choices[0]);
    expect(finishes.every((choice) => choice.finish_reason === null)).toBe(true);
  }
  const next = await complete({ prompt: "The capital of France is", max_tokens: 3 });
  expect(next.status).toBe(200);
});

test("a request that is not streamed gets the 500 envelope", async () => {
  const pending = complete({ prompt: "Once upon a time", max_tokens: 3000, ignore_eos: true });
  const probe = await openStream();
  await probe.started;
  process.kill(enginePid(server), "SIGKILL");
  const response = await pending;
  await probe.ended;
  expect(response.status).toBe(500);
  expect(await response.json()).toMatchObject({ error: { type: "server_error", code: null } });
  const next = await complete({ prompt: "Hello", max_tokens: 1 });
  expect(next.status).toBe(200);
});

test("requests that meet the death of the engine before it took them are answered", async () => {
  process.kill(enginePid(server), "SIGKILL");
  const answers = Array.from({ length: 4 }, () => complete({ prompt: "Hello", max_tokens: 1 }));
  for (const response of await Promise.all(answers)) expect(response.status).toBe(200);
});
