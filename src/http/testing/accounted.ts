/** Servers with fake access behind them, and what their ledger was told. */
import { afterEach, expect } from "vitest";
import type { Settlement } from "../../access/access.ts";
import { FakeAccess } from "../../access/testing/fake-access.ts";
import type { ServerParts } from "../server.ts";
import { aborted, choicePart, fakeServer, gate, type Script } from "./fake-server.ts";
import { listen, RawClient } from "./raw-client.ts";

export const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A listening server and a client that is connected to it. */
export async function accounted(
  script: Script,
  access = new FakeAccess(),
  parts: Partial<ServerParts> = {},
) {
  const app = fakeServer({ access, ...parts }, script);
  cleanups.push(() => app.close());
  const client = await RawClient.open(await listen(app));
  cleanups.push(() => client.close());
  return { access, app, client };
}

/** The settlement of the only reservation; there must be exactly one. */
export function settlementOf(access: FakeAccess): Settlement {
  expect(access.reservations).toHaveLength(1);
  const settlements = access.reservations[0]?.settlements ?? [];
  expect(settlements).toHaveLength(1);
  return settlements[0] as Settlement;
}

/** Resolves once the first settlement has come, whose durability waits for the gate. */
export function heldSettling(access: FakeAccess) {
  const [asked, go] = [gate(), gate()];
  access.settling = async () => {
    asked.open();
    await go.opened;
  };
  return { asked: asked.opened, go: go.open };
}

/** Two tokens, then what `end` does; it gets the signal of the run. */
export const afterTwo = (end: (signal: AbortSignal) => Promise<void>): Script =>
  async function* (_, signal) {
    yield { kind: "admitted" };
    yield choicePart({ text: "a" }, 2);
    await end(signal);
  };

/** Two tokens, and more only if nobody ends it. */
export const untilAborted = afterTwo(async (signal) => {
  await aborted(signal);
  throw new Error("the engine was told to stop");
});
