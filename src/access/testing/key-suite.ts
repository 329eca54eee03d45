/** Keys: the same tests on every database. */
import { expect, test } from "vitest";
import type { DatabaseSettings } from "../location.ts";
import { AccessBench, bearer, refusal, settlement } from "./access-bench.ts";

export function keySuite(newDatabase: () => Promise<DatabaseSettings>): void {
  const newBench = async () => new AccessBench(await newDatabase());

  test("without any key everybody is the same, whatever header they send", async () => {
    const access = await (await newBench()).server();
    const nobody = { keyId: undefined, name: "", owner: "", models: undefined };
    expect(await access.authenticate(undefined)).toEqual(nobody);
    expect(await access.authenticate("Bearer sk-whatever")).toEqual(nobody);
    expect(access.keysInUse).toBe(false);
  });

  test("a key made by another process holds at once, and from then on one is needed", async () => {
    const bench = await newBench();
    const access = await bench.server();
    expect(access.keysInUse).toBe(false);
    const made = await bench.newKey({ name: "app", models: ["tiny"] });
    const { id } = made.key;
    expect(await access.authenticate(bearer(made))).toEqual({
      keyId: id,
      name: "app",
      owner: id,
      models: ["tiny"],
    });
    expect(access.keysInUse).toBe(true);
    expect(await refusal(access.authenticate(undefined))).toMatchObject({ name: "missingKey" });
    expect(await refusal(access.authenticate("Basic abc"))).toMatchObject({ name: "missingKey" });
    expect((await refusal(access.authenticate("Bearer sk-wrong-0123456789-abcdef"))).message).toBe(
      "Incorrect API key provided: sk-wrong****cdef. Ask whoever runs this server for a valid key.",
    );
  });

  test("a revoked key is refused at once, and revoking the last one opens nothing", async () => {
    const bench = await newBench();
    const access = await bench.server();
    const made = await bench.newKey();
    await access.authenticate(bearer(made));
    const keys = await bench.keys();
    await keys.revoke("app");
    expect(await refusal(access.authenticate(bearer(made)))).toMatchObject({ name: "wrongKey" });
    expect(await refusal(access.authenticate(undefined))).toMatchObject({ name: "missingKey" });
    await expect(keys.revoke("app")).rejects.toThrow("The key 'app' is revoked already.");
    await expect(keys.revoke("other")).rejects.toThrow("There is no key 'other'.");
  });

  test("a key that expires is refused from that moment", async () => {
    const bench = await newBench();
    const access = await bench.server();
    bench.clock.ms = Date.now();
    const expiresMs = bench.clock.ms + 60_000;
    const made = await bench.newKey({ expiresMs });
    bench.clock.ms = expiresMs - 1;
    const principal = await access.authenticate(bearer(made));
    bench.clock.ms = expiresMs;
    expect(await refusal(access.authenticate(bearer(made)))).toMatchObject({ name: "wrongKey" });
    const late = access.reserve(bench.demand(principal));
    expect(await refusal(late)).toMatchObject({ name: "wrongKey" });
  });

  test("another secret takes the place of the one before; key and limits stay", async () => {
    const bench = await newBench();
    const access = await bench.server();
    const made = await bench.newKey({ limits: { maxParallel: 3 } });
    const keys = await bench.keys();
    const rotated = await keys.rotate(made.key.id);
    expect(rotated.key).toMatchObject({ id: made.key.id, limits: { maxParallel: 3 } });
    expect(rotated.secret).not.toBe(made.secret);
    expect((await access.authenticate(bearer(rotated))).keyId).toBe(made.key.id);
    expect(await refusal(access.authenticate(bearer(made)))).toMatchObject({ name: "wrongKey" });
  });

  test("what a key may do can be changed, and holds from its next request on", async () => {
    const bench = await newBench();
    const access = await bench.server();
    bench.clock.ms = Date.now();
    const made = await bench.newKey({ limits: { tokensPerMonth: 100, maxParallel: 3 } });
    const principal = await access.authenticate(bearer(made));
    await (await access.reserve(bench.demand(principal))).settle(settlement());
    expect(await refusal(access.reserve(bench.demand(principal)))).toMatchObject({ name: "quota" });
    const keys = await bench.keys();
    const expiresMs = Date.now() + 60_000;
    const models = ["tiny"];
    const limits = { tokensPerMonth: 1000, requestsPerMinute: 7 };
    const changed = await keys.update("app", { limits, models, expiresMs });
    expect(changed).toEqual({
      ...made.key,
      limits: { ...limits, maxParallel: 3 },
      models,
      expiresMs,
      lastUsedMs: undefined,
    });
    expect((await access.reserve(bench.demand(principal))).headers).toMatchObject({
      "x-ratelimit-limit-requests": "7",
    });
    const none = { maxParallel: null, requestsPerMinute: null, tokensPerMonth: null };
    const freed = await keys.update("app", { limits: none, models: null, expiresMs: null });
    expect(freed).toMatchObject({ limits: {}, models: undefined, expiresMs: undefined });
    expect((await keys.list())[0]).toEqual(freed);
    await expect(keys.update("app", { limits: { maxParallel: 0 } })).rejects.toThrow(/maxParallel/);
    await expect(keys.update("app", { expiresMs: 1 })).rejects.toThrow(/in the future/);
    await expect(keys.update("other", { models: null })).rejects.toThrow("no key 'other'");
    expect(await keys.update("app", {})).toEqual(freed);
  });

  test("secrets have 256 bits, are listed nowhere, and names are used once at a time", async () => {
    const bench = await newBench();
    const keys = await bench.keys();
    const { secret, key } = await keys.create({ name: "one" });
    expect(secret).toMatch(/^sk-[\w-]{43}$/);
    expect(JSON.stringify(await keys.list())).not.toContain(secret);
    expect(key.masked).toBe(`${secret.slice(0, 8)}****${secret.slice(-4)}`);
    await expect(keys.create({ name: "one" })).rejects.toThrow(
      "There is a key named 'one' already.",
    );
    await keys.revoke("one");
    const again = await keys.create({ name: "one" });
    expect((await keys.revoke("one")).id).toBe(again.key.id);
    expect((await keys.list()).map(({ name, revokedMs }) => [name, typeof revokedMs])).toEqual([
      ["one", "number"],
      ["one", "number"],
    ]);
  });

  test.each([
    [{ name: "" }, /printable characters/],
    [{ name: " a" }, /printable characters/],
    [{ name: "a\nb" }, /printable characters/],
    [{ name: "key_1" }, /must not begin/],
    [{ name: "a", expiresMs: 1 }, /in the future/],
    [{ name: "a", models: [] }, /no model/],
    [{ name: "a", limits: { maxParallel: 0 } }, /maxParallel must be a whole number/],
    [{ name: "a", limits: { tokensPerMonth: 1.5 } }, /tokensPerMonth must be a whole number/],
  ])("the key %j cannot be made", async (options, message) => {
    const keys = await (await newBench()).keys();
    await expect(keys.create(options)).rejects.toThrow(message);
    expect(await keys.list()).toEqual([]);
  });

  test("keys of the configuration hold beside those of the database", async () => {
    const bench = await newBench();
    const access = await bench.server({ configuredKeys: ["first-key-of-all", "second"] });
    expect(access.keysInUse).toBe(true);
    const principal = await access.authenticate("bearer second");
    expect(principal).toMatchObject({ keyId: undefined, name: "configured-2" });
    expect(principal.owner).not.toContain("second");
    const reservation = await access.reserve(bench.demand(principal));
    expect(reservation.headers).toEqual({});
    await reservation.settle(settlement());
    const made = await bench.newKey();
    await access.authenticate(bearer(made));
    const [row] = await access.usage(principal, { by: ["key"] });
    expect(row).toMatchObject({ key: "configured-2", requests: 1 });
    expect(await refusal(access.authenticate("Bearer third"))).toMatchObject({ name: "wrongKey" });
  });

  test("when a key was last used is written down in a while", async () => {
    const bench = await newBench();
    const made = await bench.newKey();
    const keys = await bench.keys();
    expect((await keys.list())[0]?.lastUsedMs).toBe(undefined);
    const access = await bench.server({ times: { usedKeysMs: 5 } });
    await access.authenticate(bearer(made));
    await expect.poll(async () => (await keys.list())[0]?.lastUsedMs).toBe(bench.clock.ms);
  });

  test("requests of a revoked key are told so while they run, others are not", async () => {
    const bench = await newBench();
    const access = await bench.server({ times: { keysMs: 5 } });
    const [one, two] = [await bench.newKey({ name: "one" }), await bench.newKey({ name: "two" })];
    const reserve = async (made: typeof one) =>
      access.reserve(bench.demand(await access.authenticate(bearer(made))));
    const [first, other] = [await reserve(one), await reserve(two)];
    const told = new Promise((resolve) => first.signal.addEventListener("abort", resolve));
    await (await bench.keys()).revoke("one");
    await told;
    expect(await refusal(Promise.reject(first.signal.reason))).toMatchObject({ name: "wrongKey" });
    expect(other.signal.aborted).toBe(false);
    await first.settle(settlement({ outcome: "cancelled" }));
    expect((await bench.rows()).map((row) => row.outcome)).toEqual(["cancelled"]);
  });
}
