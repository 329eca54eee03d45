/** Tool calls that an engine of our own answers: whose they are, and that they are accounted for. */
import { describe, expect, test } from "vitest";
import { FakeAccess } from "../access/testing/fake-access.ts";
import { anybody } from "../access/unrecorded-access.ts";
import { ApiError } from "../contract/errors.ts";
import { FakeEngine, scriptedLogits } from "../engine/testing/fake-engine.ts";
import { testVocabulary } from "../engine/testing/vocabulary.ts";
import { ModelCatalog } from "../models/catalog.ts";
import { alwaysLoaded } from "../models/model-lease.ts";
import { localSource } from "./local-source.ts";
import { Progress } from "./progress.ts";

const vocabulary = testVocabulary();
const abc = [..."abc"].map((letter) => letter.charCodeAt(0));
const silent = () => undefined;
const log = { info: silent, warn: silent, error: silent };

function source(error?: unknown) {
  const failing = error === undefined ? {} : { failAfterEvents: { events: 3, error } };
  const engine = new FakeEngine({
    vocabulary,
    logits: scriptedLogits(vocabulary, 1, abc),
    ...failing,
  });
  const model = (id: string) =>
    alwaysLoaded({ id, created: 1, insertion: { kind: "auto" } }, engine);
  const catalog = new ModelCatalog({
    models: [model("one"), model("two")],
    aliases: new Map([["example", "one"]]),
    defaultModel: "one",
  });
  const access = new FakeAccess();
  const models = { catalog, access, log, strict: false, close: () => engine.close() };
  return { access, source: localSource(Promise.resolve(models)) };
}

function callOf(principal = anybody, signal = new AbortController().signal) {
  const progress = new Progress({ token: undefined, send: async () => undefined });
  return { signal, progress, principal };
}

const body = { model: "example", prompt: "x", max_tokens: 2, temperature: 0, user: "u-1" };

describe("a call", () => {
  test("is reserved for its principal and settled with what it used", async () => {
    const { access, source: local } = source();
    const principal = { ...anybody, keyId: "key_1", name: "agent", owner: "key_1" };
    const response = await local.complete(body, callOf(principal));
    expect(access.reservations).toHaveLength(1);
    expect(access.reservations[0]?.demand).toMatchObject({
      principal,
      user: "u-1",
      completionId: response.id,
      model: "one",
      promptTokens: 1,
      completionTokensMax: 2,
      candidates: 1,
    });
    expect(access.reservations[0]?.settlements).toMatchObject([
      { outcome: "completed", promptTokens: 1, completionTokens: 2 },
    ]);
  });

  test("that is refused runs nothing", async () => {
    const { access, source: local } = source();
    access.refusal = new ApiError("quota");
    await expect(local.complete(body, callOf())).rejects.toMatchObject({ status: 429 });
  });

  test("that fails is settled as failed, with what it used", async () => {
    const { access, source: local } = source(new ApiError("server"));
    await expect(local.complete(body, callOf())).rejects.toMatchObject({ status: 500 });
    expect(access.reservations[0]?.settlements).toMatchObject([
      { outcome: "failed", error: "server", promptTokens: 1, completionTokens: 1 },
    ]);
  });

  test("whose host takes it back is settled as cancelled", async () => {
    const { access, source: local } = source();
    const host = new AbortController();
    const reserve = access.reserve.bind(access);
    access.reserve = async (demand) => {
      const reservation = await reserve(demand);
      host.abort(new Error("taken back"));
      return reservation;
    };
    const call = local.complete(body, callOf(anybody, host.signal));
    await expect(call).rejects.toThrow("taken back");
    expect(access.reservations[0]?.settlements).toMatchObject([{ outcome: "cancelled" }]);
  });

  test("whose key is revoked ends with that", async () => {
    const { access, source: local } = source();
    const reserve = access.reserve.bind(access);
    access.reserve = async (demand) => {
      const reservation = await reserve(demand);
      access.reservations[0]?.revoke(new ApiError("wrongKey", { maskedKey: "sk-a" }));
      return reservation;
    };
    await expect(local.complete(body, callOf())).rejects.toMatchObject({ status: 401 });
    expect(access.reservations[0]?.settlements).toMatchObject([
      { outcome: "cancelled", error: "wrongKey" },
    ]);
  });
});

test("a key that is limited to some models sees and uses no others", async () => {
  const { source: local } = source();
  const call = callOf({ ...anybody, models: ["two"] });
  const { data } = (await local.listModels(call)) as { data: { id: string }[] };
  expect(data.map(({ id }) => id)).toEqual(["two"]);
  await expect(local.complete(body, call)).rejects.toMatchObject({ status: 404 });
  await local.complete({ ...body, model: "two" }, call);
});
