/**
 * Measures what a call costs by the number of its sequences, on empty sequences, when a model has
 * just been loaded. Short of time, few widths are measured and the others interpolated.
 */
import type { Backend, Row } from "./backend.ts";
import { padding } from "./padding.ts";
import type { WidthPlanner } from "./width-planner.ts";

/** Enough for all widths of a small model; a large one gets the most telling ones. */
export const measureMsMax = 1500;
/** Enough to find out that an earlier measurement was disturbed, a few widths at a time. */
export const remeasureMsMax = 300;
const repeats = 3;
/** In the order of what they tell: alone, a pair, all, then what lies between. */
const order = [1, 2, Number.POSITIVE_INFINITY, 4, 8, 3, 6, 16, 12, 5, 7, 32, 64];
/** About as many fit into the shorter time. */
const widthsEachRun = 2;
const anyToken = 0;

export interface WidthMeasureOptions {
  readonly backend: Backend;
  readonly planner: WidthPlanner;
  readonly padRows: boolean;
  readonly widthMax: number;
  readonly nowMs: () => number;
  /**
   * How often these widths were measured before, in other runs. The more often, the less time is
   * spent; which ones are measured then goes round.
   */
  readonly earlierRuns?: number;
}

/** One call of a step; the first of each width, which warms up, is left out. */
export interface MeasuredCall {
  readonly width: number;
  readonly rows: readonly Row[];
  readonly elapsedMs: number;
}

/** Records costs in the planner, and gives the calls that they come from. */
export function measureWidths(options: WidthMeasureOptions): readonly MeasuredCall[] {
  const { widthMax, nowMs, earlierRuns = 0 } = options;
  const calls: MeasuredCall[] = [];
  const limitMs = earlierRuns === 0 ? measureMsMax : remeasureMsMax;
  const startMs = nowMs();
  const widths = [...new Set(order.map((width) => Math.min(width, widthMax)))];
  // One row alone each time: it is the commonest, and quick.
  const [alone = 1, ...others] = widths;
  const first = (earlierRuns * widthsEachRun) % Math.max(1, others.length);
  for (const width of [alone, ...others.slice(first), ...others.slice(0, first)]) {
    for (let repeat = 0; repeat <= repeats; repeat++) {
      if (nowMs() - startMs > limitMs) return calls;
      const call = timeCall(width, options);
      if (repeat === 0) continue;
      options.planner.record(width, call.elapsedMs);
      calls.push(call);
    }
  }
  return calls;
}

function timeCall(width: number, options: WidthMeasureOptions): MeasuredCall {
  const { backend, padRows, nowMs } = options;
  const rows = Array.from({ length: width }, (_, sequence) => {
    const row = { token: anyToken, position: 0, sequence, logits: true };
    return padRows ? [row, padding(row)] : [row];
  }).flat();
  const startMs = nowMs();
  backend.decode(rows);
  const elapsedMs = nowMs() - startMs;
  for (let sequence = 0; sequence < width; sequence++) backend.trimSequence(sequence, 0);
  return { width, rows, elapsedMs };
}
