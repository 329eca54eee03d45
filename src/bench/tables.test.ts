import { expect, test } from "vitest";
import { numberText } from "./figure-text.ts";
import { figureTable, machineLine, reportText, rowNotes, table, verdictTable } from "./tables.ts";
import { exampleReport, exampleRow } from "./testing/example-report.ts";

test("numbers keep three digits", () => {
  const numbers = [0.016, 1.005, 9.994, 9.996, 12.34, 99.94, 99.96, 1234.5];
  expect(numbers.map(numberText)).toEqual([
    ...["0.02", "1.00", "9.99", "10.0", "12.3", "99.9", "100", "1235"],
  ]);
});

test("a table of verdicts has a line for each comparison, with both sides named", () => {
  const [, , ...lines] = verdictTable([exampleRow]).split("\n");
  const cells = lines.map((line) =>
    line.split(" | ").map((cell) => cell.replace(/^\| | \|$/g, "")),
  );
  expect(cells[0]?.slice(0, 8)).toEqual([
    ...["one <stream>", "tokens/s", "150 (140-160), fast", "under 1.60, llama-server"],
    ...["at least 94.0", "≥ 0.95", "met", "1.10"],
  ]);
  expect(cells[1]?.slice(2, 7)).toEqual([
    ...["2.00, fast", "8.00, llama-server", "0.25", "≤ 0.10", "**missed**"],
  ]);
  expect(cells[2]?.slice(3, 7)).toEqual(["", "4.20 tokens/s", "≤ 5.00 tokens/s", "met"]);
  expect(cells[3]?.slice(2, 7)).toEqual([
    ...["", "under 1.60, llama-server", "", "≥ 0.95", "not measured"],
  ]);
});

test("a table of figures has the sides that were measured", () => {
  expect(figureTable(exampleRow).split("\n")).toEqual([
    "| side | speed (tokens/s) | wait (s) |",
    "| --- | ---: | ---: |",
    "| fast | 150 (140-160) | 2.00 |",
    "| llama-server | under 1.60 | 8.00 |",
  ]);
});

test("what could not be measured is said", () => {
  expect(rowNotes(exampleRow)).toEqual(["exact was not measured: it took too long"]);
});

test("the whole text names the machine and marks a quick look", () => {
  const text = reportText(exampleReport);
  expect(text).toContain("2 cores (Some Processor), 24 GiB");
  expect(text).toContain(
    "| fast: MB after so many | 0 | 10 |\n| --- | ---: | ---: |\n|  | 101 | 101 |",
  );
  expect(machineLine({ ...exampleReport, quick: true })).toContain("the figures mean nothing");
  expect(machineLine({ ...exampleReport, peer: null })).toContain("no llama-server");
});

test("a bar within a cell does not end it", () => {
  expect(table(["a|b"], [], 1)).toContain("| a\\|b |");
});
