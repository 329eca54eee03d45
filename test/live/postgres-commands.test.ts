/** The commands and a server on Postgres; the address has a password in it that nobody prints. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type PostgresServer,
  postgresPrograms,
  startPostgres,
} from "../../src/access/testing/postgres-server.ts";
import { tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";
import { type Ended, runCommand } from "../support/run-command.ts";
import { type ServerProcess, startServer } from "../support/server-process.ts";

const programs = postgresPrograms();
const folder = mkdtempSync(join(tmpdir(), "completionist-postgres-"));
const password = "open-sesame-81";

let postgres: PostgresServer;
let server: ServerProcess;
let url = "";
const ended: Ended[] = [];

beforeAll(async () => {
  if (programs === undefined) return;
  postgres = await startPostgres(programs);
  url = (await postgres.newDatabase()).replace("@", `:${password}@`);
  const options = ["--model", tinyGgufFile(), "--threads", "1", "--database", url];
  server = await startServer(options);
});

afterAll(async () => {
  await server?.stop();
  await postgres?.remove();
  rmSync(folder, { recursive: true, force: true });
});

async function run(...words: readonly string[]): Promise<Ended> {
  const result = await runCommand(words, { COMPLETIONIST_DATABASE: url });
  ended.push(result);
  return result;
}

const here = test.skipIf(programs === undefined);
if (programs === undefined) console.warn("POSTGRES IS NOT INSTALLED: no command was tried on it");

const complete = (secret: string) =>
  fetch(`${server.url}/v1/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
    body: JSON.stringify({ prompt: "ab", max_tokens: 3, ignore_eos: true, user: "ann" }),
  });

here("keys are made, changed and ended while a server runs", async () => {
  expect((await complete("whatever")).status).toBe(200);
  const secret = (await run("keys", "create", "--name", "app")).output.trim();
  expect((await complete("whatever")).status).toBe(401);
  expect((await complete(secret)).status).toBe(200);
  await run("keys", "update", "app", "--tokens-per-month", "5");
  expect((await complete(secret)).status).toBe(429);
  await run("keys", "update", "app", "--tokens-per-month", "none");
  expect((await complete(secret)).status).toBe(200);
  expect((await run("keys", "list")).output).toMatch(/^app +key_\w+ +active /m);
});

here("usage and facts are told", async () => {
  const { output } = await run("usage", "--by", "key,user", "--json");
  expect(JSON.parse(output)).toMatchObject([
    { key: "", user: "ann", requests: 1, prompt_tokens: 2, completion_tokens: 3 },
    { key: "app", user: "ann", requests: 2, prompt_tokens: 4, completion_tokens: 6 },
  ]);
  const rows = (await run("usage", "--requests", "--key", "app", "--csv")).output.split("\r\n");
  expect(rows).toHaveLength(4);
  const info = (await run("database", "info")).output;
  expect(info).toMatch(/^kind +Postgres, version \d+$/m);
  expect(info).toMatch(/^requests +3 ended, 0 running$/m);
  expect((await run("database", "prune", "--keep", "1")).output).toBe("deleted 0 rows\n");
});

here("a backup is made and put back by the commands that are told", async () => {
  const made = await run("database", "backup", "x");
  const restored = await run("database", "restore", "x");
  expect([made.code, restored.code]).toEqual([1, 1]);
  const shell = async ({ errors }: Ended) => {
    const told = /own tool: (.*), where DATABASE_URL/.exec(errors)?.[1] ?? "exit 9";
    const environment = { ...process.env, DATABASE_URL: url };
    const path = `${programs}:${process.env.PATH}`;
    const file = join(folder, "dump");
    await promisify(execFile)("bash", ["-ec", told.replace("FILE", file)], {
      env: { ...environment, PATH: path },
    });
  };
  const before = (await run("usage", "--json")).output;
  await shell(made);
  await server.stop();
  await run("keys", "create", "--name", "late");
  await shell(restored);
  expect((await run("usage", "--json")).output).toBe(before);
  expect((await run("keys", "list")).output).not.toContain("late");
});

here("an address from the configuration file counts; a wrong variable is named", async () => {
  const file = join(folder, "completionist.yaml");
  writeFileSync(file, `database: ${url}\n`);
  const words = ["keys", "list", "--config", file];
  const result = await runCommand(words, { COMPLETIONIST_DATABSE: "elsewhere" });
  ended.push(result);
  expect(result.output).toMatch(/^app /m);
  expect(result.errors).toMatch(/COMPLETIONIST_DATABSE .*did you mean COMPLETIONIST_DATABASE/);
});

here("a database that is away ends with one line, and no password is ever printed", async () => {
  await postgres.stop();
  const { code, errors } = await run("keys", "list");
  expect(code).toBe(1);
  expect(errors).toMatch(
    /^completionist: The database postgres:\/\/127[^@\n]*cannot be opened.*\n$/,
  );
  const printed = ended.map(({ output, errors: lines }) => output + lines).join("");
  expect(printed + server.output()).not.toContain(password);
});
