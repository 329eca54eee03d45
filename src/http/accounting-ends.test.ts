/** What is settled of completions that something from outside ends: exactly one row each. */
import { describe, expect, test } from "vitest";
import { FakeAccess } from "../access/testing/fake-access.ts";
import { ApiError } from "../contract/errors.ts";
import {
  accounted,
  afterTwo,
  heldSettling,
  settlementOf,
  untilAborted,
} from "./testing/accounted.ts";
import { aborted, choicePart, gate, oneChoice } from "./testing/fake-server.ts";
import { chunksOf } from "./testing/raw-client.ts";
import { endOfAnswer, framesOf } from "./testing/streams.ts";

describe("a client that leaves", () => {
  test.each([true, false])("is charged what was generated, stream: %s", async (stream) => {
    const access = new FakeAccess();
    const settled = gate();
    access.settling = async () => settled.open();
    const running = gate();
    const { client } = await accounted(async function* (_, signal) {
      yield { kind: "admitted" };
      yield choicePart({ text: "a" }, 2);
      running.open();
      await aborted(signal);
      // What was generated until the engine heard of it.
      yield choicePart({ text: "b" }, 5);
      throw signal.reason;
    }, access);
    client.post({ stream });
    await running.opened;
    client.close();
    await settled.opened;
    const settlement = settlementOf(access);
    expect(settlement).toMatchObject({ outcome: "cancelled", completionTokens: 5 });
    expect(settlement).not.toHaveProperty("error");
  });

  test("before its model is ready has reserved nothing", async () => {
    const access = new FakeAccess();
    const [asked, left] = [gate(), gate()];
    const { app, client } = await accounted(() => oneChoice("Hi"), access, {
      startCompletion: async (_: unknown, __: unknown, signal: AbortSignal) => {
        asked.open();
        await aborted(signal);
        left.open();
        return await new Promise(() => {});
      },
    });
    client.post({});
    await asked.opened;
    client.close();
    await left.opened;
    await app.close();
    expect(access.reservations).toEqual([]);
  });
});

describe("a key that is revoked while its request runs", () => {
  const revoked = new ApiError("wrongKey", { maskedKey: "sk-a****" });

  test("ends it with an error frame", async () => {
    const { access, client } = await accounted(untilAborted);
    client.post({ stream: true });
    await client.until('"text":"a"');
    access.reservations[0]?.revoke(revoked);
    const frames = framesOf(chunksOf(await client.until(endOfAnswer)));
    expect(frames.at(-1).error.code).toBe("invalid_api_key");
    expect(settlementOf(access)).toMatchObject({
      outcome: "cancelled",
      error: "wrongKey",
      completionTokens: 2,
    });
  });

  test("ends it with a 401 when nothing was sent", async () => {
    const running = gate();
    const { access, client } = await accounted(
      afterTwo(async (signal) => {
        running.open();
        await aborted(signal);
      }),
    );
    client.post({});
    await running.opened;
    access.reservations[0]?.revoke(revoked);
    expect(await client.until("}}")).toMatch(/^HTTP\/1\.1 401 /);
    expect(settlementOf(access)).toMatchObject({ outcome: "cancelled", error: "wrongKey" });
  });

  test("in the moment of its reservation is heard too", async () => {
    class Revoking extends FakeAccess {
      override async reserve(demand: Parameters<FakeAccess["reserve"]>[0]) {
        const reservation = await super.reserve(demand);
        this.reservations[0]?.revoke(revoked);
        return reservation;
      }
    }
    const { access, client } = await accounted(untilAborted, new Revoking());
    client.post({});
    expect(await client.until("}}")).toMatch(/^HTTP\/1\.1 401 /);
    expect(settlementOf(access).outcome).toBe("cancelled");
  });
});

describe("a server that stops", () => {
  test("settles what it cuts, and is closed only then", async () => {
    const access = new FakeAccess();
    const { asked, go } = heldSettling(access);
    const shutdown = new AbortController();
    const { app, client } = await accounted(untilAborted, access, { shutdown: shutdown.signal });
    client.post({ stream: true });
    await client.until('"text":"a"');
    let closed = false;
    const closing = app.close().then(() => {
      closed = true;
    });
    shutdown.abort();
    await asked;
    expect(closed).toBe(false);
    go();
    await closing;
    expect(settlementOf(access)).toMatchObject({ outcome: "failed", error: "shuttingDown" });
    expect(await client.end()).toContain("server_shutting_down");
  });

  test("waits for the settlement of a client that is gone", async () => {
    const access = new FakeAccess();
    const { asked, go } = heldSettling(access);
    const server = await accounted(untilAborted, access);
    server.client.post({ stream: true });
    await server.client.until('"text":"a"');
    server.client.close();
    await asked;
    let closed = false;
    const closing = server.app.close().then(() => {
      closed = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(closed).toBe(false);
    go();
    await closing;
  });
});
