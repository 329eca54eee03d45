import { expect, test } from "vitest";
import { exampleReport, exampleRow } from "../src/bench/testing/example-report.ts";
import { performancePage } from "./performance-page.ts";

const page = performancePage(exampleReport);

test("the page says what is missed, and of what nothing is known", () => {
  expect(page).toContain("Of 4 bars 2 are met and 1 are missed; for 1 the figures decide nothing.");
  expect(page).toContain("- wait: 0.25, and the bar is ≤ 0.10");
  expect(page).toContain("- exact was not measured: it took too long");
});

test("the page names machine, date and peer", () => {
  for (const text of ["Some Processor", "2026-01-02", "llama-server 0.6.0", "SHA-256 ab"]) {
    expect(page).toContain(text);
  }
  const alone = performancePage({ ...exampleReport, peer: null });
  expect(alone).toContain("- no llama-server");
});

test("a row that was measured on a busy machine is marked", () => {
  expect(page).not.toContain("The machine was not quiet");
  const busy = { ...exampleReport, rows: [{ ...exampleRow, busyShare: 0.5 }] };
  const words = performancePage(busy).replaceAll(/\s+/g, " ");
  expect(words).toContain("50 % of the machine in use before it. **The machine was not quiet.**");
});

test("prose lines stay short", () => {
  const long = page.split("\n").filter((line) => line.length > 110 && !/^[|!]/.test(line));
  expect(long).toEqual([]);
});
