/** A large ledger through the command: in pages, and with a reader who leaves. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openKeyStore } from "../access/key-store.ts";

const folder = mkdtempSync(join(tmpdir(), "completionist-usage-"));
const command = fileURLToPath(new URL("./main.ts", import.meta.url));
const run = promisify(execFile);

const rowCount = 20_500;

beforeAll(async () => {
  await (await openKeyStore({ database: undefined, dataFolder: folder })).close();
  const database = new DatabaseSync(join(folder, "completionist.db"));
  database.exec(`
    insert into requests (completion_id, request_id, instance, key_name, model, candidates,
      prompt_tokens, completion_tokens, cached_tokens, reserved_tokens, created_ms, outcome)
    with recursive n(i) as (select 1 union all select i + 1 from n where i < ${rowCount})
    select 'cmpl-' || i, 'req_' || i, 'x', '', 'tiny', 1, i, 2, 0, 9, 1790000000000, 'completed'
    from n`);
  database.close();
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("every row is printed once, in order", async () => {
  const words = [command, "usage", "--requests", "--json", "--data", folder];
  const { stdout } = await run(process.execPath, words, { maxBuffer: 2 ** 26 });
  const ids = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line).id as string);
  expect(ids).toEqual(Array.from({ length: rowCount }, (_, index) => `cmpl-${index + 1}`));
});

test.each(["", "--csv", "--json"])("`--requests %s | head` ends quietly", async (form) => {
  const usage = `"$0" "$1" usage --requests ${form} --data "$2"`;
  const script = `${usage} | head -n 2; echo "code \${PIPESTATUS[0]}"`;
  const words = ["-c", script, process.execPath, command, folder];
  const { stdout, stderr } = await run("bash", words);
  expect(stderr).toBe("");
  expect(stdout.trimEnd().split("\n")).toHaveLength(3);
  expect(stdout).toMatch(/code 0\n$/);
});
