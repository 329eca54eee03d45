import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Flags, loadConfiguration } from "../config/load.ts";
import type { Configuration } from "../config/settings.ts";
import type { Engine } from "../engine/engine.ts";
import { tinyGgufFile } from "../llama/testing/tiny-gguf.ts";
import { defaultModel } from "../models/default-model.ts";
import { alwaysLoaded } from "../models/model-lease.ts";
import {
  type CatalogSettings,
  checkCatalogSettings,
  createCatalog,
  readModelEntries,
} from "./catalog-settings.ts";

/** Never asked anything: the catalog only hands it on. */
const engine = {} as Engine;

const plain: CatalogSettings = { aliases: undefined, defaultModel: undefined, models: {} };

function catalogOf(settings: Partial<CatalogSettings>, ids: readonly string[] = ["tiny"]) {
  const all = { ...plain, ...settings };
  checkCatalogSettings(all, ids);
  const insertion = { kind: "auto" } as const;
  const models = ids.map((id) => alwaysLoaded({ id, created: 1, insertion }, engine));
  return createCatalog(all, models);
}

const names = (settings: Partial<CatalogSettings>, ids?: readonly string[]) =>
  catalogOf(settings, ids)
    .list()
    .map(({ id }) => id);

describe("names", () => {
  test("the retired models mean the default one unless configured otherwise", () => {
    expect(names({})).toEqual([
      "tiny",
      "gpt-3.5-turbo-instruct",
      "davinci-002",
      "babbage-002",
      "text-davinci-003",
    ]);
    expect(catalogOf({}, ["a", "b"]).resolve("davinci-002").id).toBe("a");
    expect(catalogOf({ defaultModel: "b" }, ["a", "b"]).resolve("davinci-002").id).toBe("b");
  });

  test("a model may have a retired name itself", () => {
    expect(catalogOf({}, ["a", "davinci-002"]).resolve("davinci-002").id).toBe("davinci-002");
  });

  test("aliases of the file replace them, an empty list removes them", () => {
    expect(names({ aliases: { curie: "tiny" } })).toEqual(["tiny", "curie"]);
    expect(names({ aliases: {} })).toEqual(["tiny"]);
  });

  test("an alias, settings or a default of a model that is not served is an error", () => {
    expect(() => catalogOf({ aliases: { a: "b" } })).toThrow("aliases: a means b, but only tiny");
    expect(() => catalogOf({ models: { b: {} } })).toThrow("models: there are settings for b");
    expect(() => catalogOf({ defaultModel: "b" })).toThrow("default-model: there is no model b");
    const clash = { aliases: { a: "b" } };
    expect(() => catalogOf(clash, ["a", "b"])).toThrow("aliases: a is the name of a model");
  });

  test("are only looked up: none of a request becomes a path", () => {
    const catalog = catalogOf({}, ["tiny"]);
    const paths = ["../tiny", "./tiny", "tiny.gguf", "/etc/passwd", "tiny/../tiny", "__proto__"];
    for (const name of [...paths, "constructor", "tiny\0", "..%2ftiny", ""]) {
      expect(() => catalog.resolve(name)).toThrow(expect.objectContaining({ status: 404 }));
    }
  });
});

describe("a request without a model", () => {
  test("gets the default one, which is the first", () => {
    expect(catalogOf({}).resolve(undefined).id).toBe("tiny");
    expect(catalogOf({}, ["a", "b"]).resolve(undefined).id).toBe("a");
    expect(catalogOf({ defaultModel: "b" }, ["a", "b"]).resolve(undefined).id).toBe("b");
    expect(catalogOf({ defaultModel: "davinci-002" }).resolve(undefined).id).toBe("tiny");
  });

  test("is refused when the default is null", () => {
    expect(() => catalogOf({ defaultModel: null }).resolve(undefined)).toThrow();
  });
});

describe("models of a configuration", () => {
  let folder = "";
  const file = (name: string) => join(folder, name);

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "catalog-settings-"));
    mkdirSync(file("all"));
    mkdirSync(file("empty"));
    const names = ["one.gguf", "a,b=c.gguf", "all/two.gguf", "all/one.gguf", "all/THREE.GGUF"];
    for (const name of names) copyFileSync(tinyGgufFile(), file(name));
    writeFileSync(file("all/broken.gguf"), "GGUF");
    writeFileSync(file("all/notes.txt"), "no model");
  });

  afterAll(() => rmSync(folder, { recursive: true }));

  interface Given {
    readonly flags?: Flags;
    readonly variable?: string;
    readonly yaml?: string;
  }

  function configure({ flags = {}, variable, yaml }: Given): Configuration {
    const path = yaml === undefined ? undefined : file("completionist.yaml");
    if (path !== undefined) writeFileSync(path, yaml ?? "");
    const environment = { COMPLETIONIST_CACHE: folder, COMPLETIONIST_MODEL: variable };
    return loadConfiguration({ flags, environment, file: path, folder }).configuration;
  }

  const read = (given: Given) => readModelEntries(configure(given));
  const idsOf = (given: Given) => read(given).entries.map(({ id }) => id);

  test("without any it is the default model", () => {
    const { entries, first } = read({});
    expect(first).toBe(defaultModel.id);
    expect(entries).toMatchObject([{ id: defaultModel.id, preload: true }]);
    expect(entries[0]?.settings.model).toBeUndefined();
  });

  test("flags repeat, and a flag is one file whatever its name", () => {
    const model = [file("one.gguf"), file("a,b=c.gguf"), `named=${file("one.gguf")}`];
    expect(idsOf({ flags: { model: model.slice(0, 1) } })).toEqual(["one"]);
    expect(idsOf({ flags: { model } })).toEqual(["one", "a,b=c", "named"]);
  });

  test("a variable takes commas, the file a list or a single text", () => {
    const variable = `${file("one.gguf")}, org/other=${file("one.gguf")}`;
    expect(idsOf({ variable })).toEqual(["one", "org/other"]);
    const yaml = `model:\n  - ${file("one.gguf")}\n  - b=${file("one.gguf")}\n`;
    expect(idsOf({ yaml })).toEqual(["one", "b"]);
    expect(idsOf({ yaml: `model: ${file("one.gguf")}\n` })).toEqual(["one"]);
  });

  test("a folder stands for the models in it; what is none is left out with a warning", () => {
    const { entries, warnings } = read({ flags: { model: [file("all")] } });
    expect(entries.map(({ id }) => id)).toEqual(["THREE", "one", "two"]);
    expect(warnings).toEqual([expect.stringMatching(/broken\.gguf.*left out/)]);
    expect(() => read({ flags: { model: [file("empty")] } })).toThrow(/empty has no GGUF file/);
  });

  test("the file adds models, each with settings of its own", () => {
    const yaml = `
context: 256
models:
  small:
    file: ${file("one.gguf")}
    context: 64
    slots: 2
    threads: 1
    numerics: fast
    kv-type: q8_0
    insertion: off
  eager: { file: ${file("one.gguf")}, preload: true }
  late: { file: ${file("one.gguf")} }
`;
    const { entries, first } = read({ yaml });
    expect(first).toBe("small");
    const own = { context: 64, slots: 2, threads: 1, numerics: "fast", kvType: "q8_0" };
    expect(entries).toMatchObject([
      { id: "small", preload: true, insertion: { kind: "off" }, settings: own },
      { id: "eager", preload: true, insertion: { kind: "auto" }, settings: { context: 256 } },
      { id: "late", preload: false, settings: { numerics: "reproducible" } },
    ]);
  });

  test("default-model is the one that is loaded at the start", () => {
    const models = `models: { a: { file: ${file("one.gguf")} }, b: { file: ${file("one.gguf")} } }`;
    const { entries, first } = read({ yaml: `${models}\ndefault-model: b\n` });
    expect(first).toBe("b");
    expect(entries.map(({ preload }) => preload)).toEqual([false, true]);
  });

  test("the default model is served beside others where the file names it", () => {
    const yaml = `model: ${file("one.gguf")}\nmodels: { ${defaultModel.id}: {} }\n`;
    expect(idsOf({ yaml })).toEqual(["one", defaultModel.id]);
  });

  test.each([
    ["two of one name", ["one.gguf", "all/one.gguf"], /two models are called one: .*NAME=FILE/],
    ["a folder with a name", ["x=all"], /all is a folder; its models cannot share the name x/],
    ["a name without a file", ["x="], /there is no file after "x="/],
    ["a name with spaces", ["a b=one.gguf"], /"a b" cannot be a model's name/],
    ["a file that is not there", ["none.gguf"], /There is no model file at .*none\.gguf/],
  ])("%s is an error", (_, entries, message) => {
    const model = entries.map((entry) => entry.replace(/^(.*=)?(?=.)/, `$1${folder}/`));
    const given = entries.map((entry, index) => (entry === "x=" ? entry : (model[index] ?? "")));
    expect(() => read({ flags: { model: given } })).toThrow(message);
  });
});
