/** Requests that come behind others on one connection, before those are answered. */
import { afterEach, expect, test } from "vitest";
import { fakeServer, gate, oneChoice } from "./testing/fake-server.ts";
import { listen, RawClient } from "./testing/raw-client.ts";

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function client(app: ReturnType<typeof fakeServer>): Promise<RawClient> {
  cleanups.push(() => app.close());
  const raw = await RawClient.open(await listen(app));
  cleanups.push(() => raw.close());
  return raw;
}

test("an expected 100 Continue never stands inside of an answer", async () => {
  const { opened, open } = gate();
  const app = fakeServer({}, async function* () {
    await opened;
    yield* oneChoice("Hi");
  });
  // The second is answered while the first still waits, and its answer is kept back until then.
  app.addHook("onSend", async (request) => {
    if (request.headers.expect !== undefined) setImmediate(open);
  });
  const raw = await client(app);
  raw.post({ prompt: "a" });
  raw.post({ prompt: {} }, ["Expect: 100-continue", "Connection: close"]);
  const answers = await raw.end();
  expect(answers.match(/HTTP\/1\.1 [2-5]\d\d/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 400"]);
  expect(answers).not.toMatch(/\r\n\r\nHTTP\/1\.1 100 Continue/);
});

test("a first request that expects 100 Continue gets it before its answer", async () => {
  const raw = await client(fakeServer());
  raw.post({ prompt: "a" }, ["Expect: 100-continue", "Connection: close"]);
  const answer = await raw.end();
  expect(answer).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
});

test("a request to upgrade is answered as if it were none, and the connection ends", async () => {
  const raw = await client(fakeServer());
  raw.post({ prompt: "a" }, ["Connection: upgrade", "Upgrade: h2c"]);
  raw.post({ prompt: "lost" });
  const answer = await raw.end();
  expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(answer.toLowerCase()).toContain("\r\nconnection: close\r\n");
});

test("so it is with an upgrade to an URL that cannot be read", async () => {
  const raw = await client(fakeServer());
  raw.send(
    "GET /v1/models/%ff HTTP/1.1\r\nHost: 127.0.0.1\r\n" +
      "Connection: upgrade\r\nUpgrade: h2c\r\n\r\n",
  );
  const answer = await raw.end();
  expect(answer).toMatch(/^HTTP\/1\.1 400 /);
});
