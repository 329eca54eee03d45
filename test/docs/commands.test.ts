/**
 * The commands that docs/reference/commands.md shows are run, in a folder with a tiny model; options
 * in its tables are those of the program.
 */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fileTypes } from "../../src/llama/file-types.ts";
import { tinyGguf } from "../../src/llama/testing/tiny-gguf.ts";
import { codeBlocks, codeSpans, readPage, root, tableRows } from "./support/pages.ts";

const page = readPage("docs/reference/commands.md");
const command = join(root, "src", "cli", "main.ts");
const run = promisify(execFile);
let folder = "";

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "completionist-commands-"));
  mkdirSync(join(folder, "cache", "models"), { recursive: true });
  writeFileSync(join(folder, "my-model.gguf"), tinyGguf());
  writeFileSync(join(folder, "cache", "models", "my-other-model.gguf"), tinyGguf());
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function main(...words: readonly string[]) {
  const environment = {
    ...process.env,
    COMPLETIONIST_CACHE: join(folder, "cache"),
    COMPLETIONIST_DATA: join(folder, "data"),
  };
  return run(process.execPath, [command, ...words], { cwd: folder, env: environment });
}

const shown = codeBlocks(page).filter(
  ({ language, comment }) => language === "sh" && !comment?.startsWith("not run: "),
);

test.each(shown)(
  "the commands from line $line on do something",
  async ({ code }) => {
    for (const line of code.trim().split("\n")) {
      const [runner, program, ...words] = line.split(" ");
      expect([runner, program]).toEqual(["npx", "completionist"]);
      const { stdout } = await main(...words);
      expect(stdout.trim()).not.toBe("");
    }
  },
  120_000,
);

test.each([
  ["models", "commands"],
  ["keys", "key commands"],
  ["database", "database commands"],
])("the commands of %s are those that there are", async (group, table) => {
  const { stdout } = await main(group, "--help");
  const commands = stdout.slice(stdout.indexOf("\nCommands:"));
  const listed = [...commands.matchAll(/^ {2}(\w+)/gm)].map(([, name]) => name);
  const named = tableRows(page, table).map(([cell = ""]) => codeSpans(cell)[0]?.split(" ")[1]);
  expect(named.toSorted()).toEqual(listed.filter((name) => name !== "help").toSorted());
});

test.each([
  [["models", "optimize"], "optimize", ["cache"]],
  [["keys", "create"], "keys create", ["data", "database"]],
  [["usage"], "usage", ["data", "database"]],
])("the options of %j are those that there are", async (words, table, elsewhere) => {
  const { stdout } = await main(...words, "--help");
  const there = [...stdout.matchAll(/^ {2}(?:-\w, )?--([a-z-]+)/gm)].map(([, name]) => name ?? "");
  const named = tableRows(page, table).map(
    ([cell = ""]) => /--([a-z-]+)/.exec(codeSpans(cell)[0] ?? "")?.[1] ?? "",
  );
  const left = ["help", "config", ...elsewhere];
  expect(named.toSorted()).toEqual(there.filter((name) => !left.includes(name)).toSorted());
});

test("the weight types are those that there are", () => {
  const line = /^Types: (.*?)\. The smaller/ms.exec(page.text)?.[1] ?? "";
  expect(codeSpans(line).toSorted()).toEqual(fileTypes.toSorted());
});
