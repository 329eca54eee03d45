import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { FakeBackend } from "../scheduler/testing/fake-backend.ts";
import { WidthPlanner } from "../scheduler/width-planner.ts";
import { tinyLoad } from "./testing/tiny-load.ts";
import { measureWidthsOnce, readWidths, widthFile } from "./width-cache.ts";

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "width-cache-"));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}

/** One start, on a machine where a call takes so long for each of its rows. */
function start(cacheFolder: string, rowMs: number): WidthPlanner {
  const backend = new FakeBackend({ sequences: 4 });
  const planner = new WidthPlanner(4);
  const nowMs = () => backend.calls.reduce((sum, rows) => sum + rowMs * rows.length, 0);
  const machine = { padRows: false, widthMax: 4, nowMs, libraryVersion: "1", threads: 1 };
  measureWidthsOnce({ ...tinyLoad, cacheFolder }, { backend, planner, ...machine });
  return planner;
}

const fileIn = (cacheFolder: string): string =>
  widthFile(cacheFolder, { ...tinyLoad, libraryVersion: "1", threads: 1 }) ?? "";

test("the least of all starts counts", () => {
  const cache = folder();
  start(cache, 50);
  for (let round = 0; round < 4; round++) start(cache, 2);
  const planner = start(cache, 50);
  expect(planner.measured()).toEqual([
    [1, 2],
    [2, 4],
    [3, 6],
    [4, 8],
  ]);
});

test("a damaged file is measured anew and replaced", () => {
  const cache = folder();
  start(cache, 2);
  writeFileSync(fileIn(cache), '{"runs":3,"costsMs":[[1,');
  start(cache, 3);
  expect(readWidths(fileIn(cache))).toMatchObject({ runs: 1 });
  expect(readdirSync(join(cache, "widths"))).toHaveLength(1);
});

test("another way of computing has a file of its own", () => {
  const cache = folder();
  const key = { ...tinyLoad, libraryVersion: "1", threads: 1 };
  const names = [
    key,
    { ...key, threads: 2 },
    { ...key, libraryVersion: "2" },
    { ...key, numerics: "fast" as const },
  ].map((each) => widthFile(cache, each));
  expect(new Set(names).size).toBe(4);
});

test("where there is no cache folder nothing is written", () => {
  const missing = join(folder(), "none");
  expect(widthFile(missing, { ...tinyLoad, libraryVersion: "1", threads: 1 })).toBeUndefined();
  expect(() => start(missing, 2)).not.toThrow();
});
