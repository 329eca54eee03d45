/** Rows about a long prompt: what others feel of it, and how soon it is gone when its client is. */

import { setTimeout as delay } from "node:timers/promises";
import { BenchError } from "../bench-error.ts";
import { complete, greedy, type Streamed, streamCompletion } from "../client.ts";
import { atMost, type MeasureContext, type Readings, type Row } from "../row.ts";
import { percentile } from "../statistics.ts";
import { untilIdle } from "../target.ts";

const streams = 4;

export const gaps: Row = {
  id: "gaps",
  title: "Gaps between tokens of four streams",
  explanation:
    "Four streams run; then a prompt of 4,000 tokens comes. The 99th percentile of the time between " +
    "two pieces of text of a stream, before it came, and from then until its own first token. " +
    "Pieces rather than tokens: where several tokens make one character, they come together.",
  shape: "long",
  series: [
    { key: "alone", title: "p99 alone", unit: "ms", better: "less" },
    { key: "beside", title: "p99 while 4,000 tokens are read", unit: "ms", better: "less" },
    { key: "read", title: "time to the long prompt's first token", unit: "s", better: "less" },
  ],
  arms: ["fast", "reproducible", "peer", "peer-tuned"],
  once: ["peer-tuned"],
  measure: measureGaps,
  lines: [
    { title: "gaps of four streams alone", series: "alone", ours: "reproducible", other: "peer" },
    {
      title: "gaps of four streams while a prompt of 4,000 tokens is read",
      series: "beside",
      ours: "reproducible",
      other: "peer",
      bar: atMost(0.1),
    },
  ],
};

async function measureGaps(context: MeasureContext): Promise<Readings> {
  const { target, prompts, sizes, signal } = context;
  const { prompt, before } = sizes.long;
  const done = new AbortController();
  const started = Promise.withResolvers<void>();
  let waiting = streams;
  const onPiece = (pieces: number) => {
    if (pieces === before && --waiting === 0) started.resolve();
  };
  const tokens = sizes.shapes.long.context - 64;
  const running = Array.from({ length: streams }, () => {
    const body = { ...greedy, prompt: prompts.fresh(16), max_tokens: tokens };
    return streamCompletion(target.url, body, { signal, leave: done.signal, onPiece });
  });
  const all = Promise.all(running);
  await Promise.race([started.promise, all]);
  const sentMs = performance.now();
  const body = { ...greedy, prompt: prompts.fresh(prompt), max_tokens: 1 };
  await complete(target.url, body, signal);
  const readMs = performance.now();
  // Pieces that were on their way when the prompt was read through.
  await delay(20, undefined, { signal });
  done.abort();
  const streamed = await all;
  return {
    values: {
      alone: percentile(some(gapsBefore(streamed, sentMs)), 99),
      beside: percentile(some(gapsDuring(streamed, sentMs, readMs)), 99),
      read: (readMs - sentMs) / 1000,
    },
  };
}

function some(gapsMs: readonly number[]): readonly number[] {
  if (gapsMs.length > 0) return gapsMs;
  throw new BenchError("failed", "no stream ran while it was measured");
}

interface Gap {
  readonly beginMs: number;
  readonly endMs: number;
}

function gapsOf({ timesMs }: Pick<Streamed, "timesMs">): Gap[] {
  return timesMs.slice(1).map((endMs, index) => ({ beginMs: timesMs[index] as number, endMs }));
}

/** Milliseconds between pieces of text that follow each other and both came before `untilMs`. */
export function gapsBefore(
  streamed: readonly Pick<Streamed, "timesMs">[],
  untilMs: number,
): number[] {
  const gaps = streamed.flatMap(gapsOf).filter(({ endMs }) => endMs <= untilMs);
  return gaps.map(({ beginMs, endMs }) => endMs - beginMs);
}

/**
 * Milliseconds of all gaps that were open at some time between `fromMs` and `untilMs`, each in its
 * whole length. A gap that no piece has ended counts up to `untilMs`.
 */
export function gapsDuring(
  streamed: readonly Pick<Streamed, "timesMs">[],
  fromMs: number,
  untilMs: number,
): number[] {
  const all = streamed.flatMap((each) => {
    const lastMs = each.timesMs.at(-1) ?? untilMs;
    return [...gapsOf(each), { beginMs: lastMs, endMs: untilMs }];
  });
  const open = all.filter(
    ({ beginMs, endMs }) => endMs > fromMs && beginMs < untilMs && endMs > beginMs,
  );
  return open.map(({ beginMs, endMs }) => endMs - beginMs);
}

export const cancelling: Row = {
  id: "cancel",
  title: "A request that is cancelled while its prompt is read",
  explanation:
    "A prompt of 4,000 tokens is sent, and its client leaves half a second later. The time from then " +
    "until another, small request is answered, and that small request's time on an idle server.",
  shape: "long",
  series: [
    { key: "idle", title: "small request on an idle server", unit: "ms", better: "less" },
    { key: "freed", title: "small request after the cancel", unit: "ms", better: "less" },
  ],
  arms: ["fast", "reproducible", "peer", "peer-tuned"],
  measure: async ({ target, prompts, sizes, signal }) => {
    const { prompt, cancelAfterMs } = sizes.long;
    const probe = () =>
      complete(target.url, { ...greedy, prompt: prompts.fresh(4), max_tokens: 1 }, signal);
    const idle = (await probe()).elapsedMs;
    const leave = AbortSignal.timeout(cancelAfterMs);
    const body = { ...greedy, prompt: prompts.fresh(prompt), max_tokens: 1 };
    await streamCompletion(target.url, body, { signal, leave });
    const freed = (await probe()).elapsedMs;
    await untilIdle(target, signal);
    return { values: { idle, freed } };
  },
  lines: [
    {
      title: "time until a cancelled request has freed the machine, while its prompt was read",
      series: "freed",
      ours: "reproducible",
      other: "peer",
      bar: atMost(0.1),
    },
  ],
};
