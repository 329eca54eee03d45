/**
 * Measures one row: arm after arm within a round, so that a busy moment hits all of them, every
 * other round from the last to the first. Never are two sides at work at once.
 */

import type { GgufHeader } from "../llama/gguf-header.ts";
import { estimateMemory } from "../llama/memory-estimate.ts";
import { type Arm, type ArmId, armOf } from "./arms.ts";
import { bareLoop } from "./bare.ts";
import { measureQuietness, quietnessWarning } from "./machine.ts";
import { startOwnServer } from "./own-server.ts";
import type { Figure, RowReport } from "./report.ts";
import type { MeasureContext, Reading, Readings, Row } from "./row.ts";
import type { PoolOptions, ServerPool } from "./server-pool.ts";
import type { Sizes } from "./sizes.ts";
import { untilIdle } from "./target.ts";
import { compare } from "./verdict.ts";

export interface RunOptions extends PoolOptions {
  readonly pool: ServerPool;
  readonly sizes: Sizes;
  readonly rounds: number;
  readonly requests: number;
  readonly modelBytes: number;
  /** Of the model file. */
  readonly header: GgufHeader;
  readonly tell: (line: string) => void;
  readonly signal: AbortSignal;
}

const limitMsDefault = 5 * 60_000;

interface Collected {
  readonly figures: Map<string, { series: string; arm: ArmId; values: number[]; bound: boolean }>;
  readonly traces: { arm: ArmId; title: string; points: [number, number][] }[];
  readonly failures: { arm: ArmId; reason: string }[];
}

export async function runRow(row: Row, options: RunOptions): Promise<RowReport> {
  const { pool, sizes, tell, signal } = options;
  const shape = sizes.shapes[row.shape];
  const rounds = row.single === true ? 1 : options.rounds;
  const ids = row.arms.filter((id) => isPossible(armOf(id), options));
  const servers = ids.map(armOf).filter((arm) => arm.kind !== "bare");
  await pool.keepOnly(servers, shape);
  const quietness = await measureQuietness(signal);
  const warning = quietnessWarning(quietness);
  if (warning !== undefined) tell(`  warning: ${warning}`);
  const measuredAt = new Date().toISOString();
  const collected: Collected = { figures: new Map(), traces: [], failures: [] };
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? ids : ids.toReversed();
    for (const id of order) {
      if (isDone(row, id, round, collected)) continue;
      await measureArm(row, id, options, collected);
      tell(`  ${armOf(id).name}, round ${round + 1} of ${rounds}: ${lastOf(row, id, collected)}`);
    }
  }
  const figures: Figure[] = [...collected.figures.values()];
  return {
    ...{ id: row.id, title: row.title, explanation: row.explanation, measuredAt, rounds },
    ...{ ...shape, ...quietness },
    series: [...row.series],
    arms: ids.map((id) => ({ id, name: armOf(id).name })),
    figures,
    lines: row.lines.map((plan) => compare(plan, figures, row.series)),
    traces: collected.traces,
    failures: collected.failures,
    notes: warning === undefined ? [] : [warning],
  };
}

function isPossible(arm: Arm, { peer, fetchedModel }: PoolOptions): boolean {
  if (arm.kind !== "peer") return true;
  return peer !== undefined && (!arm.fetched || fetchedModel !== undefined);
}

/** Nothing new is to be learnt from this arm. */
function isDone(row: Row, id: ArmId, round: number, { figures, failures }: Collected): boolean {
  if (failures.some(({ arm }) => arm === id)) return true;
  if (round > 0 && row.once?.includes(id) === true) return true;
  return [...figures.values()].some(({ arm, bound }) => arm === id && bound);
}

async function measureArm(
  row: Row,
  id: ArmId,
  options: RunOptions,
  collected: Collected,
): Promise<void> {
  const limit = AbortSignal.timeout(row.limitMs ?? limitMsDefault);
  try {
    const readings = await measureOnce(row, armOf(id), options, limit);
    for (const [series, reading] of Object.entries(readings.values)) {
      addReading(collected, { series, arm: id }, reading);
    }
    for (const { title, points } of readings.traces ?? []) {
      collected.traces.push({ arm: id, title, points: points.map(([x, y]) => [x, y]) });
    }
  } catch (error) {
    options.signal.throwIfAborted();
    const reason = limit.aborted ? "it took too long" : (error as Error).message;
    collected.failures.push({ arm: id, reason });
    const arm = armOf(id);
    if (arm.kind !== "bare") await options.pool.drop(arm, options.sizes.shapes[row.shape]);
  }
}

async function measureOnce(
  row: Row,
  arm: Arm,
  options: RunOptions,
  limit: AbortSignal,
): Promise<Readings> {
  const { pool, sizes, model } = options;
  const shape = sizes.shapes[row.shape];
  const signal = AbortSignal.any([options.signal, limit]);
  if (arm.kind === "bare") {
    if (row.bare === undefined) throw new Error(`${row.id} does nothing with a bare loop`);
    const { work, series, tokens } = row.bare;
    const speed = await bareLoop(arm, work, { model, tokens: tokens(sizes), signal });
    return { values: { [series]: speed } };
  }
  const first = armOf("reproducible");
  if (first.kind !== "own") throw new Error("the default is ours");
  const prompts = await pool.prompts(first, shape, signal);
  const target = await pool.get(arm, shape, signal);
  const estimate = estimateMemory(options.header, {
    ...{ numerics: first.numerics, kvType: "f16" },
    ...{ slots: shape.slots, contextLength: shape.context },
  });
  const context: MeasureContext = {
    ...{ target, prompts, sizes, signal },
    requests: options.requests,
    modelBytes: options.modelBytes,
    cacheBytes: estimate.cache,
    engineBytes: estimate.total,
    startPool: (names, memoryBytes) => {
      const { cache, folder } = options;
      const models = names.map((name) => `${name}=${model}`);
      const more = ["--memory", String(Math.round(memoryBytes))];
      return startOwnServer(first, shape, { models, cache, folder, more, signal });
    },
  };
  const readings = await row.measure(context);
  await untilIdle(target, signal);
  return readings;
}

function addReading(
  { figures }: Collected,
  { series, arm }: { readonly series: string; readonly arm: ArmId },
  reading: Reading,
): void {
  const value = typeof reading === "number" ? reading : reading.value;
  const bound = typeof reading !== "number";
  const key = JSON.stringify([series, arm]);
  const known = figures.get(key);
  if (known === undefined) figures.set(key, { series, arm, values: [value], bound });
  else {
    known.values.push(value);
    known.bound ||= bound;
  }
}

function lastOf(row: Row, id: ArmId, { figures, failures }: Collected): string {
  const failed = failures.find(({ arm }) => arm === id);
  if (failed !== undefined) return `failed: ${failed.reason}`;
  const parts = row.series.flatMap(({ key, unit }) => {
    const figure = figures.get(JSON.stringify([key, id]));
    const value = figure?.values.at(-1);
    return value === undefined ? [] : [`${value.toPrecision(4)} ${unit}`];
  });
  return parts.join(", ");
}
