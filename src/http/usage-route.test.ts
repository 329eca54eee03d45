import { afterEach, describe, expect, test } from "vitest";
import { FakeAccess } from "../access/testing/fake-access.ts";
import { fakeServer } from "./testing/fake-server.ts";

const apps: ReturnType<typeof fakeServer>[] = [];

afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
});

function server(access: FakeAccess) {
  const app = fakeServer({ access });
  apps.push(app);
  return (url: string, headers: Record<string, string> = {}) =>
    app.inject({ method: "GET", url, headers: { host: "localhost", ...headers } });
}

const row = { requests: 2, promptTokens: 10, cachedTokens: 4, completionTokens: 7 };

test.each(["/v1/usage", "/usage"])("%s is what the key that asks has used", async (url) => {
  const access = new FakeAccess();
  const key = access.addKey("sk-a");
  access.addKey("sk-b");
  access.rows = [{ ...row, day: "2026-10-02", model: "fake" }];
  const get = server(access);
  expect((await get(url)).statusCode).toBe(401);
  const answer = await get(`${url}?by=day,model&from=2026-10-01&until=1790985600`, key);
  expect(answer.json()).toEqual({
    object: "list",
    by: ["day", "model"],
    from: Date.UTC(2026, 9, 1) / 1000,
    until: 1_790_985_600,
    data: [
      {
        object: "usage",
        day: "2026-10-02",
        model: "fake",
        requests: 2,
        prompt_tokens: 10,
        cached_tokens: 4,
        completion_tokens: 7,
        total_tokens: 17,
      },
    ],
  });
  expect(access.usageQueries).toEqual([
    {
      principal: access.keys.get("sk-a"),
      query: {
        by: ["day", "model"],
        fromMs: Date.UTC(2026, 9, 1),
        untilMs: 1_790_985_600_000,
      },
    },
  ]);
});

describe("the query", () => {
  test("groups by days unless it says otherwise, over all time", async () => {
    const access = new FakeAccess();
    const answer = await server(access)("/v1/usage");
    expect(answer.json()).toMatchObject({ by: ["day"], from: null, until: null, data: [] });
    expect(access.usageQueries[0]?.query).toEqual({ by: ["day"] });
  });

  test.each([
    ["by=user&by=key", ["user", "key"]],
    ["by=model,model", ["model"]],
    ["by=day,%20user", ["day", "user"]],
  ])("%s", async (query, by) => {
    const access = new FakeAccess();
    await server(access)(`/v1/usage?${query}`);
    expect(access.usageQueries[0]?.query.by).toEqual(by);
  });

  test.each([
    ["2026-10-02T08:00:00Z", Date.UTC(2026, 9, 2, 8)],
    ["2026-10-02T08:00%2B02:00", Date.UTC(2026, 9, 2, 6)],
    ["0", 0],
  ])("from %s", async (text, fromMs) => {
    const access = new FakeAccess();
    await server(access)(`/v1/usage?from=${text}`);
    expect(access.usageQueries[0]?.query.fromMs).toBe(fromMs);
  });

  test.each([
    ["by=week", "by", "expected some of day, key, model, user, got 'week'"],
    ["by=", "by", "expected some of"],
    ["from=yesterday", "from", "got 'yesterday'"],
    ["from=2026-02-30", "from", "expected a date"],
    ["from=2026-10-02T08:00", "from", "a time with its zone"],
    ["from=1e9", "from", "Unix seconds"],
    ["until=-1", "until", "Unix seconds"],
    ["from=1&from=2", "from", "expected a date"],
    ["from=2026-10-02&until=2026-10-02", "until", "later than from"],
  ])("%s is refused", async (query, param, words) => {
    const answer = await server(new FakeAccess())(`/v1/usage?${query}`);
    expect(answer.statusCode).toBe(400);
    expect(answer.json().error).toMatchObject({ param, code: "invalid_value" });
    expect(answer.json().error.message).toContain(words);
  });

  test("names no parameter that there is not", async () => {
    const answer = await server(new FakeAccess())("/v1/usage?form=2026-10-02");
    expect(answer.statusCode).toBe(400);
    expect(answer.json().error.message).toBe("Unrecognized request argument supplied: form");
  });
});
