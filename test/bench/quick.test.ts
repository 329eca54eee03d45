/** The bench as it is called: every row on a tiny model, for a look at whether all of it runs. */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Report, readReport } from "../../src/bench/report.ts";
import { rows } from "../../src/bench/rows.ts";
import { tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";

const command = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const runMs = 600_000;
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "completionist-bench-test-"));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Outcome {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

function bench(words: readonly string[], environment: object = {}): Promise<Outcome> {
  const child = spawn(process.execPath, [command, "bench", ...words], {
    cwd: folder,
    env: { ...process.env, ...environment },
  });
  let output = "";
  let errors = "";
  child.stdout.on("data", (data: Buffer) => {
    output += data.toString();
  });
  child.stderr.on("data", (data: Buffer) => {
    errors += data.toString();
  });
  return new Promise((resolve) => {
    child.once("close", (code) => resolve({ code, output, errors }));
  });
}

test("every row runs on a tiny model, and is printed, written and drawn", {
  timeout: runMs,
}, async () => {
  const model = tinyGgufFile({ contextLength: 2048 });
  const names = rows.map(({ id }) => id);
  const { code, output, errors } = await bench([
    ...["--quick", "--no-peer", "--model", model, "--rows", names.join(",")],
    ...["--json", "report.json", "--svg", "chart.svg"],
  ]);
  expect(code, errors).toBe(0);
  const report = (await readReport(join(folder, "report.json"))) as Report;
  expect(report.rows.map(({ id }) => id)).toEqual(names);
  expect(report.rows.flatMap(({ id, failures }) => failures.map((each) => [id, each]))).toEqual([]);
  for (const row of report.rows) {
    const own = row.arms.map(({ id }) => id);
    expect(new Set(row.figures.map(({ arm }) => arm))).toEqual(new Set(own));
    expect(row.figures.flatMap(({ values }) => values).every(Number.isFinite)).toBe(true);
    expect(output).toContain(`${row.title} (\`${row.id}\``);
  }
  expect(output).toContain("the figures mean nothing");
  expect(readFileSync(join(folder, "chart.svg"), "utf8")).toContain(
    "one stream, against a bare loop",
  );

  const again = await bench([
    ...["--quick", "--no-peer", "--model", model, "--json", "report.json", "--resume"],
  ]);
  expect(again.code).toBe(0);
  expect(again.errors).not.toContain("round 1");
  const other = await bench([
    ...["--no-peer", "--model", model, "--json", "report.json", "--rows", "reading"],
  ]);
  expect(other).toMatchObject({ code: 2, output: "" });
  expect(other.errors).toContain("were measured with another size (--quick)");
});

test("what is wrong with the words is one line and exit code 2", async () => {
  const outcome = await bench(["--rows", "nothing"]);
  expect(outcome).toMatchObject({ code: 2, output: "" });
  expect(outcome.errors).toMatch(/^completionist: --rows: there is no row "nothing"; rows: .*\n$/);
  const peer = await bench(["--rows", "reading"], { LLAMA_SERVER: "./none" });
  expect(peer).toMatchObject({ code: 2 });
});
