import { expect, test } from "vitest";
import { BenchError } from "./bench-error.ts";
import { type BenchWords, readBenchOptions } from "./bench-options.ts";
import { chooseRows, rows } from "./rows.ts";

test("nothing said means three rounds of all rows that do not take long", () => {
  expect(readBenchOptions({})).toEqual({
    rows: undefined,
    rounds: 3,
    requests: 10_000,
    json: undefined,
    svg: undefined,
    resume: false,
    peer: { path: undefined, install: false },
    model: undefined,
    quick: false,
  });
  expect(chooseRows(undefined).map(({ id }) => id)).not.toContain("memory");
});

test("a quick look is one round, unless more are asked for", () => {
  expect(readBenchOptions({ quick: true }).rounds).toBe(1);
  expect(readBenchOptions({ quick: true, rounds: "2" }).rounds).toBe(2);
});

test("the peer is named, brought, looked for or left out", () => {
  expect(readBenchOptions({ peer: "./server" }).peer).toEqual({ path: "./server", install: false });
  expect(readBenchOptions({ peer: false }).peer).toBe("none");
  expect(readBenchOptions({ installPeer: true }).peer).toEqual({ path: undefined, install: true });
});

const wrong: readonly (readonly [BenchWords, string])[] = [
  [{ rounds: "0" }, '--rounds: expected a whole number from 1 to 100, got "0"'],
  [{ rounds: "1.5" }, '--rounds: expected a whole number from 1 to 100, got "1.5"'],
  [{ rounds: "" }, '--rounds: expected a whole number from 1 to 100, got ""'],
  [{ requests: "many" }, '--requests: expected a whole number from 1 to 10000000, got "many"'],
  [{ rows: "one-stream," }, '--rows: expected names with commas between them, got "one-stream,"'],
  [{ resume: true }, "--resume needs --json, the file with the rows so far"],
  [
    { installPeer: true, peer: "a" },
    "--install-peer brings a peer: give no --peer and no --no-peer",
  ],
  [
    { installPeer: true, peer: false },
    "--install-peer brings a peer: give no --peer and no --no-peer",
  ],
];

test.each(wrong)("%j is refused", (words, message) => {
  expect(() => readBenchOptions(words)).toThrow(new BenchError("usage", message));
});

test("rows keep their order, whatever order they are named in", () => {
  const chosen = chooseRows(["memory", "cancel", "one-stream"]);
  expect(chosen.map(({ id }) => id)).toEqual(["one-stream", "cancel", "memory"]);
});

test("a row that there is not is refused with the names of all", () => {
  const act = () => chooseRows(["two-streams"]);
  expect(act).toThrow(/^--rows: there is no row "two-streams"; rows: one-stream, .*, memory$/);
});

test("every line compares arms and series that its row has", () => {
  for (const row of rows) {
    const keys = row.series.map(({ key }) => key);
    for (const line of row.lines) {
      expect(row.arms).toContain(line.ours);
      if (line.other !== undefined) expect(row.arms).toContain(line.other);
      expect(keys).toContain(line.series);
      if (line.otherSeries !== undefined) expect(keys).toContain(line.otherSeries);
    }
    for (const arm of row.once ?? []) expect(row.arms).toContain(arm);
    const hasBare = row.arms.some((arm) => arm.startsWith("bare-"));
    expect(row.bare !== undefined).toBe(hasBare);
  }
  expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
});
