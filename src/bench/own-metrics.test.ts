import { expect, test } from "vitest";
import { sumOf } from "./own-metrics.ts";

const text = [
  "# HELP completionist_engine_cpu_seconds_total Processor time.",
  'completionist_engine_cpu_seconds_total{model="a"} 1.5',
  'completionist_engine_cpu_seconds_total{model="b"} 2',
  "completionist_process_cpu_seconds_total 0.25",
].join("\n");

test("a metric is summed over its labels and not taken for another of a like name", () => {
  expect(sumOf(text, "engine_cpu_seconds_total")).toBe(3.5);
  expect(sumOf(text, "process_cpu_seconds_total")).toBe(0.25);
  expect(() => sumOf(text, "cpu_seconds_total")).toThrow("no metric cpu_seconds_total");
});
