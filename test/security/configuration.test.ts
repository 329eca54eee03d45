/** completionist.yaml may come with a project that somebody else wrote. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ConfigurationError } from "../../src/config/configuration-error.ts";
import { loadConfiguration } from "../../src/config/load.ts";
import { temporaryFolder } from "../../src/models/testing/temporary-folder.ts";

function load(text: string) {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "completionist.yaml"), text);
  return loadConfiguration({ flags: {}, environment: {}, file: undefined, folder }).configuration;
}

/** Nine lists, each of nine times the one before: 9^9 entries when written out. */
const laughs = ["a: &a [x, x, x, x, x, x, x, x, x]"]
  .concat(
    [..."bcdefghi"].map((name, index) => {
      const before = "abcdefgh"[index];
      return `${name}: &${name} [${Array.from({ length: 9 }, () => `*${before}`).join(", ")}]`;
    }),
  )
  .join("\n");

test.each([
  ["a bomb of aliases", laughs],
  ["a bomb inside of a setting", `aliases: &a { x: y }\n${laughs}`],
  ["an alias of itself", "cors: &a [*a]"],
  ["a merge of itself", "models: &a { <<: *a }"],
  ["a deep nesting", `cors: ${"[".repeat(5000)}${"]".repeat(5000)}`],
  ["code", "cors: !!js/function 'function () { process.exit(7) }'"],
  ["a prototype", "__proto__: { polluted: true }"],
])("%s is one clear error", (_, text) => {
  expect(() => load(text)).toThrow(ConfigurationError);
});

test("a prototype inside of a setting stays data", () => {
  const polluted = () => ({}) as { polluted?: unknown };
  try {
    const { aliases } = load("aliases: { __proto__: fake, constructor: fake }");
    expect(Object.keys(aliases ?? {})).toContain("constructor");
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigurationError);
  }
  expect(polluted().polluted).toBeUndefined();
});
