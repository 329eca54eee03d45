import { expect, test } from "vitest";
import { chart, marksOf } from "./chart.ts";
import { exampleReport, exampleRow } from "./testing/example-report.ts";

test("a line is drawn as how many times better it is, times turned over", () => {
  expect(marksOf([exampleRow])).toEqual([
    { title: "one <stream>", times: 94, wanted: 0.95, atLeast: true, verdict: "met" },
    { title: "wait", times: 4, wanted: 10, atLeast: false, verdict: "missed" },
  ]);
});

test("the picture has a bar, a mark and a word for each line, and a text for who cannot see it", () => {
  const svg = chart(exampleReport);
  expect(svg.match(/<rect class="(met|missed)"/g)).toHaveLength(2);
  expect(svg.match(/<rect class="bar"/g)).toHaveLength(2);
  expect(svg).toContain(">over 94.0× ✓ met</text>");
  expect(svg).toContain(">4.00× ✗ missed</text>");
  expect(svg).toContain("wait: 4.00× ✗ missed (bar 10.0).");
  expect(svg).toContain("prefers-color-scheme: dark");
});

test("texts cannot break the picture", () => {
  const svg = chart(exampleReport);
  expect(svg).not.toContain("<stream>");
  const open = [...svg.matchAll(/<(svg|title|desc|style|text)\b/g)].length;
  expect([...svg.matchAll(/<\/(svg|title|desc|style|text)>/g)]).toHaveLength(open);
  expect(svg).not.toMatch(/NaN|Infinity|undefined/);
});

test("a report without comparisons is drawn, too", () => {
  expect(chart({ ...exampleReport, rows: [] })).not.toMatch(/NaN|Infinity/);
});

test("bars better than equal begin where those that are worse end", () => {
  const worse = { ...exampleRow, lines: exampleRow.lines.slice(1, 2) };
  const better = {
    ...exampleRow,
    lines: exampleRow.lines.slice(1, 2).map((line) => {
      return { ...line, ratio: 4 };
    }),
  };
  const bars = [
    ...chart({ ...exampleReport, rows: [better, worse] }).matchAll(
      /<rect class="missed" x="([\d.]+)" y="\d+" width="([\d.]+)"/g,
    ),
  ].map(([, x, width]) => [Number(x), Number(width)] as const);
  const [first, second] = bars;
  expect((first?.[0] ?? 0) + (first?.[1] ?? 0)).toBeCloseTo(second?.[0] ?? 0, 0);
  expect(first?.[1]).toBeCloseTo(second?.[1] ?? 0, 0);
});
