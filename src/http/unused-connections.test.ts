import { expect, test } from "vitest";
import { fakeServer, gate, oneChoice } from "./testing/fake-server.ts";
import { listen, RawClient } from "./testing/raw-client.ts";

test("a connection that was never used does not keep a server from closing", async () => {
  const app = fakeServer();
  const client = await RawClient.open(await listen(app));
  await app.close();
  expect(await client.end()).toBe("");
});

test("a connection whose request is at work stays until it is answered", async () => {
  const { opened, open } = gate();
  const started = gate();
  const app = fakeServer({}, async function* () {
    started.open();
    await opened;
    yield* oneChoice("Hi");
  });
  const port = await listen(app);
  const [used, unused] = [await RawClient.open(port), await RawClient.open(port)];
  used.post({ prompt: "a" });
  await started.opened;
  const closed = app.close();
  expect(await unused.end()).toBe("");
  open();
  await closed;
  expect(await used.end()).toContain('"text":"Hi"');
});
