/** A small report with every kind of line, for tests of what is written from it. */
import type { Report, RowReport } from "../report.ts";

export const exampleRow: RowReport = {
  id: "one-stream",
  title: "One stream",
  explanation: "One request alone.",
  measuredAt: "2026-01-02T03:04:05.000Z",
  rounds: 3,
  slots: 8,
  context: 1024,
  loadAverage: 0.25,
  busyShare: 0.02,
  series: [
    { key: "speed", title: "speed", unit: "tokens/s", better: "more" },
    { key: "wait", title: "wait", unit: "s", better: "less" },
  ],
  arms: [
    { id: "fast", name: "fast" },
    { id: "peer", name: "llama-server" },
    { id: "exact", name: "exact" },
  ],
  figures: [
    { series: "speed", arm: "fast", values: [140, 150.4, 160], bound: false },
    { series: "speed", arm: "peer", values: [1.6], bound: true },
    { series: "wait", arm: "fast", values: [2], bound: false },
    { series: "wait", arm: "peer", values: [8], bound: false },
  ],
  lines: [
    line({ title: "one <stream>", ratio: 94, known: "at least", verdict: "met", tunedRatio: 1.1 }),
    line({
      title: "wait",
      series: "wait",
      otherSeries: "wait",
      ratio: 0.25,
      bar: { kind: "at most", value: 0.1 },
      verdict: "missed",
    }),
    line({
      title: "share",
      other: null,
      ratio: 4.2,
      bar: { kind: "at most", value: 5 },
      verdict: "met",
    }),
    line({ title: "exact", ours: "exact", verdict: "not measured", ratio: null }),
  ],
  traces: [
    {
      arm: "fast",
      title: "MB after so many",
      points: [
        [0, 100.5],
        [10, 101],
      ],
    },
  ],
  failures: [{ arm: "exact", reason: "it took too long" }],
  notes: [],
};

function line(changes: Partial<RowReport["lines"][number]>): RowReport["lines"][number] {
  return {
    title: "",
    series: "speed",
    otherSeries: "speed",
    ours: "fast",
    other: "peer",
    ratio: 1,
    known: "exactly",
    bar: { kind: "at least", value: 0.95 },
    verdict: "met",
    tunedRatio: null,
    outOfTheBoxRatio: null,
    ...changes,
  };
}

export const exampleReport: Report = {
  format: "completionist-bench-1",
  startedAt: "2026-01-02T03:04:05.000Z",
  machine: {
    processor: "Some Processor",
    cores: 2,
    memoryBytes: 24 * 1024 ** 3,
    system: "linux 6, x64",
    node: "v24.0.0",
    completionist: "1.2.3",
    library: "3.2.1",
  },
  model: { file: "model.gguf", bytes: 1_000_000, sha256: "ab" },
  fetchedModel: null,
  peer: { name: "llama-server", version: "0.6.0", native: true },
  quick: false,
  rows: [exampleRow],
};
