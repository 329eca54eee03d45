import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ConfigurationError } from "./configuration-error.ts";
import { type Flags, loadConfiguration } from "./load.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "configuration-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function load(
  parts: { flags?: Flags; environment?: Record<string, string>; yaml?: string; file?: string } = {},
) {
  if (parts.yaml !== undefined) writeFileSync(join(folder, "completionist.yaml"), parts.yaml);
  return loadConfiguration({
    flags: parts.flags ?? {},
    environment: parts.environment ?? {},
    file: parts.file,
    folder,
  });
}

function messageOf(parts: Parameters<typeof load>[0]): string {
  try {
    load(parts);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigurationError);
    return (error as Error).message;
  }
  throw new Error("no error");
}

describe("which place wins", () => {
  const yaml = "port: 1001\nslots: 3\nhost: ::1\n";
  const environment = { COMPLETIONIST_PORT: "1002", COMPLETIONIST_SLOTS: "4" };

  test("a flag over a variable over the file over the default", () => {
    const { configuration } = load({ yaml, environment, flags: { port: "1003" } });
    expect(configuration.port).toBe(1003);
    expect(configuration.slots).toBe(4);
    expect(configuration.host).toBe("::1");
    expect(configuration.numerics).toBe("reproducible");
  });

  test("an empty variable counts as not set", () => {
    const { configuration } = load({ yaml, environment: { COMPLETIONIST_PORT: "" } });
    expect(configuration.port).toBe(1001);
  });

  test("without anything there are defaults for all", () => {
    const { configuration, file, warnings } = load();
    expect(configuration).toMatchObject({
      model: [],
      context: undefined,
      threads: undefined,
      port: 8080,
      host: "127.0.0.1",
      slots: undefined,
      numerics: "reproducible",
      kvType: "f16",
      insertion: { kind: "auto" },
      limits: "openai",
      strict: false,
      noAuth: false,
      apiKey: [],
      cors: [],
      basePath: "",
      drain: 10,
      aliases: undefined,
    });
    expect(file).toBeUndefined();
    expect(warnings).toEqual([]);
  });
});

describe("kinds of values", () => {
  test("switches: the flag says true, variables say true or false in words", () => {
    expect(load({ flags: { strict: true } }).configuration.strict).toBe(true);
    const yaml = "strict: true\n";
    expect(load({ environment: { COMPLETIONIST_STRICT: "1" } }).configuration.strict).toBe(true);
    const off = load({ yaml, environment: { COMPLETIONIST_STRICT: "no" } });
    expect(off.configuration.strict).toBe(false);
  });

  test("lists: flags repeat, variables take commas, the file takes a text or a list", () => {
    expect(load({ flags: { apiKey: ["a", "b"] } }).configuration.apiKey).toEqual(["a", "b"]);
    const environment = { COMPLETIONIST_API_KEY: "a, b,c" };
    expect(load({ environment }).configuration.apiKey).toEqual(["a", "b", "c"]);
    expect(load({ yaml: "api-key: a\n" }).configuration.apiKey).toEqual(["a"]);
    expect(load({ yaml: "api-key: [a, b]\n" }).configuration.apiKey).toEqual(["a", "b"]);
  });

  test("sizes: bytes, or a unit of 1,024", () => {
    const size = (text: string) => load({ flags: { bodyLimit: text } }).configuration.bodyLimit;
    expect(size("2048")).toBe(2048);
    expect(size("2kB")).toBe(2048);
    expect(size("1.5 MiB")).toBe(1_572_864);
    expect(load({ yaml: "body-limit: 3mb\n" }).configuration.bodyLimit).toBe(3 * 1024 * 1024);
  });

  test("insertion: a name, or a template with both places", () => {
    const insertion = (text: string) =>
      load({ flags: { insertion: text } }).configuration.insertion;
    expect(insertion("rerank")).toEqual({ kind: "rerank" });
    const template = "<P>{prefix}<S>{suffix}<M>";
    expect(insertion(template)).toEqual({ kind: "template", template });
    expect(messageOf({ flags: { insertion: "{prefix} only" } })).toContain("--insertion: expected");
  });

  test("a slash at the end of the base path changes nothing", () => {
    const basePath = (text: string) => load({ flags: { basePath: text } }).configuration.basePath;
    expect(basePath("/a/b/")).toBe("/a/b");
    expect(basePath("/")).toBe("");
    expect(messageOf({ flags: { basePath: "a" } })).toContain("--base-path");
  });

  test("settings of models and aliases come from the file", () => {
    const yaml = "aliases:\n  a: m\nmodels:\n  m:\n    insertion: off\ndefault-model: null\n";
    const { configuration } = load({ yaml });
    expect(configuration.aliases).toEqual({ a: "m" });
    expect(configuration.models).toEqual({ m: { insertion: { kind: "off" } } });
    expect(configuration.defaultModel).toBeNull();
  });
});

describe("wrong values name their place", () => {
  test.each<[string, Parameters<typeof load>[0], string]>([
    [
      "a flag",
      { flags: { port: "abc" } },
      '--port: expected a whole number from 0 to 65535, got "abc"',
    ],
    ["a flag out of range", { flags: { port: "65536" } }, "--port: expected a whole number"],
    [
      "an empty flag",
      { flags: { slots: "" } },
      '--slots: expected a whole number from 1 to 256, got ""',
    ],
    [
      "a variable",
      { environment: { COMPLETIONIST_NUMERICS: "quick" } },
      'COMPLETIONIST_NUMERICS: expected one of fast, reproducible, exact, got "quick"',
    ],
    [
      "the file",
      { yaml: "port: eighty\n" },
      'completionist.yaml: port: expected a whole number from 0 to 65535, got "eighty"',
    ],
    ["a fraction", { yaml: "slots: 1.5\n" }, "completionist.yaml: slots: expected a whole number"],
    ["an origin", { flags: { cors: ["example.org"] } }, "--cors: expected origins such as"],
    ["a size", { flags: { bodyLimit: "many" } }, "--body-limit: expected a size such as 16MB"],
  ])("%s", (_name, parts, message) => {
    expect(messageOf(parts)).toContain(message);
  });

  test("a wrong key is not repeated in the message", () => {
    expect(messageOf({ flags: { apiKey: ["my secret"] } })).not.toContain("secret");
    expect(messageOf({ environment: { COMPLETIONIST_API_KEY: "my secret" } })).not.toContain(
      "secret",
    );
    expect(messageOf({ yaml: 'api-key: "my secret"\n' })).not.toContain("secret");
  });
});

describe("the configuration file", () => {
  test("an unknown key is an error that names the closest one", () => {
    expect(messageOf({ yaml: "prot: 1\n" })).toBe(
      'completionist.yaml: "prot" is no setting; did you mean "port"?',
    );
    expect(messageOf({ yaml: "zzzzzzzzzzzzzzzzzz: 1\n" })).toBe(
      'completionist.yaml: "zzzzzzzzzzzzzzzzzz" is no setting',
    );
  });

  test("a file that was named must exist, and be a file", () => {
    expect(messageOf({ file: join(folder, "no.yaml") })).toContain("does not exist");
    mkdirSync(join(folder, "sub"));
    expect(messageOf({ file: join(folder, "sub") })).toContain("is a folder");
  });

  test("COMPLETIONIST_CONFIG names a file too", () => {
    const path = join(folder, "other.yaml");
    writeFileSync(path, "port: 7\n");
    const loaded = load({ environment: { COMPLETIONIST_CONFIG: path } });
    expect(loaded.configuration.port).toBe(7);
    expect(loaded.file).toBe(path);
  });

  test("a syntax error names the line", () => {
    expect(messageOf({ yaml: "port: 1\nhost: [a\n" })).toMatch(/^completionist\.yaml line \d+: /);
  });

  test("an empty file says nothing, a list is an error", () => {
    expect(load({ yaml: "# nothing\n" }).configuration.port).toBe(8080);
    expect(messageOf({ yaml: "- port\n" })).toContain("expected settings such as");
  });
});

test("a variable that no setting reads gives a warning with the closest name", () => {
  expect(load({ environment: { COMPLETIONIST_PROT: "1" } }).warnings).toEqual([
    "the environment variable COMPLETIONIST_PROT is no setting and was ignored; " +
      "did you mean COMPLETIONIST_PORT?",
  ]);
});
