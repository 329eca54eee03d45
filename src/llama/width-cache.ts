/**
 * Keeps what calls of each width cost from one start to the next, in a file for each model, machine
 * and way of computing. The least of all starts counts, and each start measures some widths anew:
 * so a machine that was busy once spoils nothing for long.
 */
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { cpus } from "node:os";
import { join, resolve } from "node:path";
import { z } from "zod";
import {
  type MeasuredCall,
  measureWidths,
  type WidthMeasureOptions,
} from "../scheduler/width-measure.ts";
import type { LoadOptions } from "./messages.ts";

const recordSchema = z.object({
  /** Starts that have measured. */
  runs: z.int().min(1),
  costsMs: z.array(z.tuple([z.int().min(1), z.number().positive()])).max(1024),
});

export type WidthRecord = z.infer<typeof recordSchema>;

export interface WidthKey
  extends Pick<LoadOptions, "modelPath" | "numerics" | "kvType" | "gpuLayers"> {
  readonly libraryVersion: string;
  readonly threads: number;
}

type Measuring = WidthMeasureOptions & Pick<WidthKey, "libraryVersion" | "threads">;

/** Fills the planner from the file and from measurements, and writes the file anew. */
export function measureWidthsOnce(
  options: LoadOptions,
  measuring: Measuring,
): readonly MeasuredCall[] {
  const path = widthFile(options.cacheFolder, { ...options, ...measuring });
  const known = path === undefined ? undefined : readWidths(path);
  for (const [width, costMs] of known?.costsMs ?? []) measuring.planner.record(width, costMs);
  const runs = known?.runs ?? 0;
  const calls = measureWidths({ ...measuring, earlierRuns: runs });
  const costsMs = measuring.planner.measured().map(([width, ms]): [number, number] => [width, ms]);
  if (path !== undefined) writeWidths(path, { runs: runs + 1, costsMs });
  return calls;
}

/** Undefined without a cache folder: none is made for this alone. */
export function widthFile(cacheFolder: string | undefined, key: WidthKey): string | undefined {
  if (cacheFolder === undefined || !existsSync(cacheFolder)) return undefined;
  const { modelPath, numerics, kvType, gpuLayers = 0, libraryVersion, threads } = key;
  const { size, mtimeMs } = statSync(modelPath);
  const machine = [cpus()[0]?.model, cpus().length, threads];
  const file = [resolve(modelPath), size, mtimeMs];
  const identity = JSON.stringify([file, libraryVersion, numerics, kvType, gpuLayers, machine]);
  const name = createHash("sha256").update(identity).digest("hex").slice(0, 24);
  return join(cacheFolder, "widths", `${name}.json`);
}

/** Undefined when there is no sound file. */
export function readWidths(path: string): WidthRecord | undefined {
  try {
    return recordSchema.parse(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    return undefined;
  }
}

/** At once or not at all. That it cannot be written only costs time at the next start. */
export function writeWidths(path: string, record: WidthRecord): void {
  const draft = `${path}.${process.pid}`;
  try {
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(draft, `${JSON.stringify(record)}\n`);
    renameSync(draft, path);
  } catch {
    rmSync(draft, { force: true });
  }
}
