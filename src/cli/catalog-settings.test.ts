import { describe, expect, test } from "vitest";
import type { Engine } from "../engine/engine.ts";
import { type CatalogSettings, checkCatalogSettings, createCatalog } from "./catalog-settings.ts";

/** Never asked anything: the catalog only hands it on. */
const engine = {} as Engine;

const plain: CatalogSettings = {
  aliases: undefined,
  defaultModel: undefined,
  insertion: { kind: "auto" },
  models: {},
};

function catalogOf(settings: Partial<CatalogSettings>) {
  const all = { ...plain, ...settings };
  checkCatalogSettings(all, "tiny");
  return createCatalog(all, { id: "tiny", engine, created: 1 });
}

const names = (settings: Partial<CatalogSettings>) =>
  catalogOf(settings)
    .list()
    .map(({ id }) => id);

describe("names", () => {
  test("the retired models mean the served one unless configured otherwise", () => {
    expect(names({})).toEqual([
      "tiny",
      "gpt-3.5-turbo-instruct",
      "davinci-002",
      "babbage-002",
      "text-davinci-003",
    ]);
  });

  test("aliases of the file replace them, an empty list removes them", () => {
    expect(names({ aliases: { curie: "tiny" } })).toEqual(["tiny", "curie"]);
    expect(names({ aliases: {} })).toEqual(["tiny"]);
  });

  test("an alias, settings or a default of a model that is not served is an error", () => {
    expect(() => catalogOf({ aliases: { a: "b" } })).toThrow("aliases: a means b, but only tiny");
    expect(() => catalogOf({ models: { b: {} } })).toThrow("models: there are settings for b");
    expect(() => catalogOf({ defaultModel: "b" })).toThrow("default-model: there is no model b");
  });
});

describe("a request without a model", () => {
  test("gets the served one", () => {
    expect(catalogOf({}).resolve(undefined).id).toBe("tiny");
    expect(catalogOf({ defaultModel: "davinci-002" }).resolve(undefined).id).toBe("tiny");
  });

  test("is refused when the default is null", () => {
    expect(() => catalogOf({ defaultModel: null }).resolve(undefined)).toThrow();
  });
});

test("insertion of the model wins over the general one", () => {
  const insertion = { kind: "rerank" } as const;
  expect(catalogOf({ insertion }).resolve("tiny").insertion).toEqual(insertion);
  const models = { tiny: { insertion: { kind: "off" } } } as const;
  expect(catalogOf({ insertion, models }).resolve("tiny").insertion).toEqual({ kind: "off" });
});
