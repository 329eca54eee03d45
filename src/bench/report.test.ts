import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { differenceOf } from "./bench.ts";
import { readReport, withRow, writeReport } from "./report.ts";
import { exampleReport, exampleRow } from "./testing/example-report.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "completionist-report-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

test("what was written is read again, and no draft stays", async () => {
  const path = join(folder, "a.json");
  expect(await readReport(path)).toBeUndefined();
  await writeReport(path, exampleReport);
  expect(await readReport(path)).toEqual(exampleReport);
  expect(readdirSync(folder)).toEqual(["a.json"]);
});

test.each(["no json", "{}", '{"format":"completionist-bench-1","rows":[]}'])(
  "a file that holds %s is refused and stays",
  async (text) => {
    const path = join(folder, "b.json");
    writeFileSync(path, text);
    await expect(readReport(path)).rejects.toThrow("is no report of this bench");
  },
);

test("a row that was measured again stands in the place of the old one", () => {
  const other = { ...exampleRow, id: "other" };
  const again = { ...exampleRow, rounds: 9 };
  const report = withRow(withRow(exampleReport, other), again);
  expect(report.rows.map(({ id, rounds }) => [id, rounds])).toEqual([
    ["one-stream", 9],
    ["other", 3],
  ]);
});

test("rows of another machine, model or peer, or of a quick look, are told apart", () => {
  const { machine } = exampleReport;
  expect(differenceOf(exampleReport, { ...exampleReport, startedAt: "later" })).toBeUndefined();
  const others = [
    { machine: { ...machine, cores: 4 } },
    { model: { ...exampleReport.model, sha256: "cd" } },
    { peer: null },
    { quick: true },
  ];
  const found = others.map((change) =>
    differenceOf(exampleReport, { ...exampleReport, ...change }),
  );
  expect(found).toEqual(["machine", "model", "peer", "size (--quick)"]);
});
