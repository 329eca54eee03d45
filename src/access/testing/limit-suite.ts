/** Limits: the same tests on every database. */
import { expect, test } from "vitest";
import type { KeyLimits, LimitChanges } from "../key-limits.ts";
import type { DatabaseSettings } from "../location.ts";
import { AccessBench, bearer, refusal, settlement } from "./access-bench.ts";

export function limitSuite(newDatabase: () => Promise<DatabaseSettings>): void {
  /** A server, and somebody with a key that has these limits. */
  const limited = async (limits: KeyLimits) => {
    const bench = new AccessBench(await newDatabase());
    const made = await bench.newKey({ limits });
    const access = await bench.server();
    const principal = await access.authenticate(bearer(made));
    const reserve = (parts: Parameters<AccessBench["demand"]>[1] = {}) =>
      access.reserve(bench.demand(principal, parts));
    return { bench, access, principal, reserve };
  };

  test("requests per minute: so many at once, then as the minute goes", async () => {
    const { bench, reserve } = await limited({ requestsPerMinute: 3 });
    const first = await reserve();
    expect(first.headers).toEqual({
      "x-ratelimit-limit-requests": "3",
      "x-ratelimit-remaining-requests": "2",
      "x-ratelimit-reset-requests": "20s",
    });
    await reserve();
    await reserve();
    expect(await refusal(reserve())).toEqual({
      name: "rateLimit",
      type: "requests",
      message:
        "Rate limit reached for tiny on requests per min (RPM): Limit 3, Used 3, Requested 1. " +
        "Please try again in 20s.",
      retry: { shouldRetry: true, retryAfterMs: 20_000 },
    });
    bench.clock.ms += 19_999;
    expect((await refusal(reserve())).retry.retryAfterMs).toBe(1);
    bench.clock.ms += 1;
    await reserve();
  });

  test("a refusal tells what is left, too", async () => {
    const { reserve } = await limited({ requestsPerMinute: 3, tokensPerMinute: 150 });
    await reserve();
    const refused = await reserve().catch((error: unknown) => error);
    expect(refused).toMatchObject({
      errorName: "rateLimit",
      headers: {
        "x-ratelimit-limit-requests": "3",
        "x-ratelimit-remaining-requests": "2",
        "x-ratelimit-reset-requests": "20s",
        "x-ratelimit-limit-tokens": "150",
        "x-ratelimit-remaining-tokens": "50",
        "x-ratelimit-reset-tokens": "40s",
      },
    });
  });

  test("tokens per minute: reserved in full, and what was not used is given back", async () => {
    const { reserve } = await limited({ tokensPerMinute: 150 });
    const first = await reserve();
    expect(first.headers).toMatchObject({
      "x-ratelimit-limit-tokens": "150",
      "x-ratelimit-remaining-tokens": "50",
      "x-ratelimit-reset-tokens": "40s",
    });
    expect(await refusal(reserve())).toEqual({
      name: "rateLimit",
      type: "tokens",
      message:
        "Rate limit reached for tiny on tokens per min (TPM): Limit 150, Used 100, Requested 100. " +
        "Please try again in 20s.",
      retry: { shouldRetry: true, retryAfterMs: 20_000 },
    });
    await first.settle(settlement({ promptTokens: 10, completionTokens: 20 }));
    const { headers } = await reserve();
    // A little may have leaked while the request ran, by the clock that only goes forward.
    expect(Number(headers["x-ratelimit-remaining-tokens"])).toBeGreaterThanOrEqual(18);
  });

  test("one request above the limit is told that waiting does not help", async () => {
    const { reserve } = await limited({ tokensPerMinute: 99 });
    expect(await refusal(reserve())).toEqual({
      name: "requestOverLimit",
      type: "tokens",
      message:
        "Request too large for tiny on tokens per min (TPM): Limit 99, Requested 100. The input " +
        "or output tokens must be reduced in order to run successfully.",
      retry: { shouldRetry: false },
    });
  });

  test("parallel requests: the next may come when one has ended", async () => {
    const { reserve } = await limited({ maxParallel: 2 });
    const [first] = [await reserve(), await reserve()];
    expect(await refusal(reserve())).toMatchObject({ name: "rateLimit", type: "requests" });
    await first.settle(settlement());
    await reserve();
  });

  test("tokens per month: to the last token, reserved ones included, anew next month", async () => {
    const { bench, reserve } = await limited({ tokensPerMonth: 230 });
    const first = await reserve();
    const second = await reserve();
    expect(await refusal(reserve())).toEqual({
      name: "quota",
      type: "insufficient_quota",
      message: "You exceeded your current quota, please check your plan and billing details.",
      retry: { shouldRetry: false },
    });
    await first.settle(settlement({ promptTokens: 10, completionTokens: 20 }));
    // 30 used, 100 reserved, 100 asked for.
    const third = await reserve();
    expect((await refusal(reserve({ promptTokens: 1, completionTokensMax: 0 }))).name).toBe(
      "quota",
    );
    bench.clock.ms = Date.UTC(2026, 6, 1) - 1;
    expect((await refusal(reserve())).name).toBe("quota");
    bench.clock.ms += 1;
    await reserve();
    await reserve();
    // What was reserved in June is charged to June.
    await second.settle(settlement({ promptTokens: 100, completionTokens: 0 }));
    await third.settle(settlement({ promptTokens: 100, completionTokens: 0 }));
    expect((await refusal(reserve())).name).toBe("quota");
    await reserve({ promptTokens: 30, completionTokensMax: 0 });
  });

  test("limits of users hold for each user, and for no request without one", async () => {
    const { reserve } = await limited({ userRequestsPerMinute: 1, requestsPerMinute: 4 });
    const { headers } = await reserve({ user: "ann" });
    // The user's limit has less room than the key's.
    expect(headers["x-ratelimit-limit-requests"]).toBe("1");
    const again = await refusal(reserve({ user: "ann" }));
    expect(again.message).toContain("requests per min (RPM) of this user: Limit 1, Used 1");
    await reserve({ user: "bob" });
    await reserve();
    expect((await reserve()).headers["x-ratelimit-remaining-requests"]).toBe("0");
    expect((await refusal(reserve({ user: "eve" }))).message).toContain("Limit 4, Used 4");
  });

  test("each limit of a user stands for itself", async () => {
    const { reserve } = await limited({
      userTokensPerMinute: 100_000,
      userTokensPerMonth: 150,
      userMaxParallel: 1,
    });
    const first = await reserve({ user: "ann" });
    // Waiting does not help against the quota, so it is what is said.
    expect((await refusal(reserve({ user: "ann" }))).name).toBe("quota");
    const small = { user: "ann", promptTokens: 1, completionTokensMax: 1 };
    expect((await refusal(reserve(small))).message).toContain("parallel requests of this user");
    await first.settle(settlement());
    await reserve(small);
    await reserve({ user: "bob" });
  });

  test("a quota of users that is set in the middle of a month counts what they have used", async () => {
    const { bench, reserve } = await limited({});
    const change = async (limits: LimitChanges) => {
      await (await bench.keys()).update("app", { limits });
    };
    const running = await reserve({ user: "ann" });
    await change({ userTokensPerMonth: 150 });
    // 100 are reserved already.
    expect((await refusal(reserve({ user: "ann" }))).name).toBe("quota");
    await running.settle(settlement({ promptTokens: 10, completionTokens: 50 }));
    expect((await refusal(reserve({ user: "ann" }))).name).toBe("quota");
    const small = { user: "ann", promptTokens: 10, completionTokensMax: 80 };
    const second = await reserve(small);
    await change({ userTokensPerMonth: null });
    await second.settle(settlement({ promptTokens: 10, completionTokens: 0 }));
    await change({ userTokensPerMonth: 150 });
    // 70 are used, and nothing is reserved any more.
    await reserve({ user: "ann", promptTokens: 10, completionTokensMax: 70 });
    expect((await refusal(reserve({ user: "ann", promptTokens: 1 }))).name).toBe("quota");
  });

  test("a limit per minute that is set while a request runs gives nothing of it back", async () => {
    const { bench, reserve } = await limited({});
    const running = await reserve();
    await (await bench.keys()).update("app", { limits: { tokensPerMinute: 100 } });
    await reserve();
    await running.settle(settlement({ promptTokens: 1, completionTokens: 0 }));
    expect((await refusal(reserve({ promptTokens: 50, completionTokensMax: 0 }))).name).toBe(
      "rateLimit",
    );
  });

  test("a request that is refused by one limit takes nothing from the others", async () => {
    const { reserve } = await limited({
      maxParallel: 1,
      requestsPerMinute: 2,
      tokensPerMinute: 200,
      tokensPerMonth: 200,
    });
    const first = await reserve();
    for (let index = 0; index < 5; index += 1) await refusal(reserve());
    await first.settle(settlement({ promptTokens: 10, completionTokens: 90 }));
    expect((await reserve()).headers).toMatchObject({
      "x-ratelimit-remaining-requests": "0",
      "x-ratelimit-remaining-tokens": "0",
    });
  });

  test("two servers on one database share every limit exactly", async () => {
    const bench = new AccessBench(await newDatabase());
    const made = await bench.newKey({
      limits: { requestsPerMinute: 17, tokensPerMonth: 1_000_000 },
    });
    const servers = [await bench.server(), await bench.server()];
    const principal = await servers[0]?.authenticate(bearer(made));
    if (principal === undefined) throw new Error("There is no principal.");
    const tries = Array.from({ length: 40 }, (_, index) =>
      servers[index % 2]?.reserve(bench.demand(principal)),
    );
    const results = await Promise.allSettled(tries);
    expect(results.filter((result) => result.status === "fulfilled")).toHaveLength(17);
  });

  test("a clock that is set back frees nothing and blocks nothing", async () => {
    const { bench, reserve } = await limited({ requestsPerMinute: 1 });
    await reserve();
    bench.clock.ms -= 3_600_000;
    expect((await refusal(reserve())).retry.retryAfterMs).toBe(60_000);
    bench.clock.ms += 60_000;
    await reserve();
  });

  test("names and users of any kind are only ever data", async () => {
    const { bench, reserve } = await limited({ userRequestsPerMinute: 5 });
    const users = [
      "'; drop table requests; --",
      "a\0b",
      "\ud800",
      "x".repeat(100_000),
      "%_\\",
      "😀",
    ];
    for (const user of users) await (await reserve({ user })).settle(settlement());
    const rows = await bench.rows();
    expect(rows).toHaveLength(users.length);
    expect(new Set(rows.map((row) => row.user)).size).toBe(users.length);
    expect(rows[0]?.user).toBe(users[0]);
    expect(rows[3]?.user).toHaveLength(256);
  });
}
