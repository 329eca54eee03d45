import { expect, test } from "vitest";
import type { Row } from "./backend.ts";
import { FakeBackend } from "./testing/fake-backend.ts";
import { measureMsMax, measureWidths } from "./width-measure.ts";
import { WidthPlanner } from "./width-planner.ts";

/** A backend on which time passes: `costMs` for a call with this many rows. */
function timedBackend(costMs: (rows: number) => number) {
  let clockMs = 0;
  class TimedBackend extends FakeBackend {
    override decode(rows: readonly Row[]): void {
      super.decode(rows);
      clockMs += costMs(rows.length);
    }
  }
  return { backend: new TimedBackend({ sequences: 8 }), nowMs: () => clockMs };
}

test("the planner knows the costs afterwards, and all sequences are empty", () => {
  const { backend, nowMs } = timedBackend((rows) => (rows === 1 ? 8 : 25 + 3 * rows));
  const planner = new WidthPlanner(8);
  measureWidths({ backend, planner, padRows: false, widthMax: 8, nowMs });
  expect(planner.partition(2)).toEqual([1, 1]);
  expect(planner.partition(8)).toEqual([8]);
  expect(backend.contents.every((content) => content.length === 0)).toBe(true);
});

test("a slow model is measured for no longer than the limit allows", () => {
  const callMs = 400;
  const { backend, nowMs } = timedBackend(() => callMs);
  const planner = new WidthPlanner(8);
  measureWidths({ backend, planner, padRows: false, widthMax: 8, nowMs });
  expect(nowMs()).toBeLessThanOrEqual(measureMsMax + callMs);
  expect(planner.partition(3)).toEqual([3]);
});

test("rows are padded as they will be when candidates run", () => {
  const { backend, nowMs } = timedBackend((rows) => rows);
  const planner = new WidthPlanner(8);
  measureWidths({ backend, planner, padRows: true, widthMax: 8, nowMs });
  expect(planner.costMs(4)).toBe(8);
});
