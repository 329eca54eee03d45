import { afterEach, describe, expect, test } from "vitest";
import { FakeAccess } from "../access/testing/fake-access.ts";
import type { Health } from "./server-context.ts";
import { fakeServer } from "./testing/fake-server.ts";

const apps: ReturnType<typeof fakeServer>[] = [];

afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
});

function server(...parameters: Parameters<typeof fakeServer>) {
  const app = fakeServer(...parameters);
  apps.push(app);
  return async (url: string) => {
    const answer = await app.inject({ method: "GET", url, headers: { host: "localhost" } });
    return [answer.statusCode, answer.json()];
  };
}

const failed: Health = { status: "failed", restarts: 3, reason: "the file is damaged" };

describe("readiness", () => {
  test("is 200 when requests can be answered", async () => {
    for (const url of ["/health/ready", "/v1/health/ready"]) {
      expect(await server()(url)).toEqual([200, { status: "ok" }]);
    }
  });

  test("is 503 with the reason when the model has failed, or still loads", async () => {
    expect(await server({ health: () => failed })("/health/ready")).toEqual([
      503,
      { status: "failed", reason: "the file is damaged" },
    ]);
    const loading: Health = { status: "loading" };
    expect(await server({ health: () => loading })("/health/ready")).toEqual([503, loading]);
  });

  test("is 503 when nothing can be recorded", async () => {
    const access = new FakeAccess();
    access.state = { writable: false, lagMs: 900, pendingWrites: 3 };
    expect(await server({ access })("/health/ready")).toEqual([
      503,
      { status: "failed", reason: "the usage ledger cannot be written" },
    ]);
    expect(await server({ access })("/health")).toEqual([200, { status: "ok" }]);
  });

  test("is 503 once the server stops, and so is health", async () => {
    const shutdown = new AbortController();
    const get = server({ shutdown: shutdown.signal });
    shutdown.abort();
    expect(await get("/health/ready")).toEqual([503, { status: "draining" }]);
    expect(await get("/health")).toEqual([503, { status: "draining" }]);
    expect((await get("/v1/models"))[0]).toBe(503);
  });
});

describe("liveness", () => {
  test("is 200 whatever the model does", async () => {
    const shutdown = new AbortController();
    const get = server({ shutdown: shutdown.signal, health: () => failed });
    shutdown.abort();
    expect(await get("/health/live")).toEqual([200, { status: "ok" }]);
  });
});

test("all of them are open where keys are in use", async () => {
  const access = new FakeAccess();
  access.addKey("sk-a");
  const get = server({ access });
  for (const url of ["/health", "/health/live", "/health/ready"]) {
    expect((await get(url))[0]).toBe(200);
  }
});
