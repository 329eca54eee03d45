/** Rows about generating: one stream, several at once, and one beside busy neighbours. */
import { BenchError } from "../bench-error.ts";
import { greedy, type Streamed, streamCompletion } from "../client.ts";
import { besideNeighbours } from "../neighbours.ts";
import { cpuSeconds } from "../own-metrics.ts";
import { atLeast, atMost, type MeasureContext, type Readings, type Row } from "../row.ts";
import { untilIdle } from "../target.ts";
import { type LinePlan, modeLines } from "../verdict.ts";

const speed = { key: "speed", title: "speed", unit: "tokens/s", better: "more" } as const;

export const oneStream: Row = {
  id: "one-stream",
  title: "One stream",
  explanation:
    "One request alone: 16 prompt tokens, 192 generated, the likeliest token each time. Counted " +
    "from the first token to the last, so that reading the prompt is not in it. The bare loop calls " +
    "the same native library and does nothing else.",
  shape: "streams",
  series: [speed],
  arms: [
    ...(["fast", "reproducible", "exact", "fast-1", "reproducible-1"] as const),
    ...(["bare-fast", "bare-reproducible", "peer", "peer-tuned", "peer-fetched"] as const),
  ],
  measure: async ({ target, prompts, sizes, signal }) => {
    const { prompt, tokens } = sizes.oneStream;
    const body = { ...greedy, prompt: prompts.fresh(prompt), max_tokens: tokens };
    const streamed = await streamCompletion(target.url, body, { signal });
    return { values: { speed: generationSpeed(streamed, tokens) } };
  },
  bare: { work: "decode", tokens: (sizes) => sizes.oneStream.tokens, series: "speed" },
  lines: [
    {
      title: "one stream, against a bare loop, both with one thread",
      series: "speed",
      ours: "fast-1",
      other: "bare-fast",
      bar: atLeast(0.95),
    },
    { title: "one stream", series: "speed", ours: "fast", other: "peer", bar: atLeast(0.95) },
    ...modeLines("one stream", "speed"),
  ],
};

function severalStreams(count: number, lines: readonly LinePlan[], row: Partial<Row> = {}): Row {
  return {
    id: `streams-${count}`,
    title: `${count} streams at once`,
    explanation:
      `${count} requests sent at once, each with its own 128 prompt tokens and 64 generated: all ` +
      "generated tokens by the time from the first request to the last token, reading included.",
    shape: "streams",
    series: [speed],
    arms: ["fast", "reproducible", "exact", "peer", "peer-tuned", "peer-fetched"],
    measure: (context) => measureStreams(context, count),
    lines,
    ...row,
  };
}

const fewLines = (title: string): readonly LinePlan[] => [
  { title, series: "speed", ours: "reproducible", other: "peer", bar: atLeast(1) },
  {
    title: `${title}, both with one thread`,
    series: "speed",
    ours: "reproducible-1",
    other: "peer-tuned",
    bar: atLeast(1.25),
  },
];

const fewArms = [
  ...(["fast", "reproducible", "exact", "reproducible-1"] as const),
  ...(["peer", "peer-tuned", "peer-fetched"] as const),
];

const manyLines = (title: string): readonly LinePlan[] => [
  { title, series: "speed", ours: "fast", other: "peer", bar: atLeast(0.95) },
  ...modeLines(title, "speed"),
];

const sixteen = severalStreams(16, [
  ...manyLines("16 streams"),
  {
    title: "processor time of the HTTP process at 16 streams, of all that the server uses",
    series: "http",
    ours: "reproducible",
    bar: atMost(5),
  },
]);

export const streamRows: readonly Row[] = [
  severalStreams(2, fewLines("2 streams"), { arms: fewArms }),
  severalStreams(4, fewLines("4 streams"), { arms: fewArms }),
  severalStreams(8, manyLines("8 streams")),
  {
    ...sixteen,
    shape: "wide",
    series: [
      speed,
      { key: "http", title: "HTTP process, share of processor time", unit: "%", better: "less" },
    ],
    explanation:
      `${sixteen.explanation} The share is of the processor time of both processes of the server, ` +
      "as its metrics tell it before and after.",
    measure: async (context) => {
      const { target, signal } = context;
      if (target.kind === "peer") return measureStreams(context, 16);
      const before = await cpuSeconds(target.url, signal);
      const { values } = await measureStreams(context, 16);
      await untilIdle(target, signal);
      const after = await cpuSeconds(target.url, signal);
      const server = after.server - before.server;
      const http = (100 * server) / (server + after.engine - before.engine);
      return { values: { ...values, http } };
    },
  },
];

async function measureStreams(
  { target, prompts, sizes, signal }: MeasureContext,
  count: number,
): Promise<Readings> {
  const { prompt, tokens } = sizes.streams;
  const bodies = Array.from({ length: count }, () => {
    return { ...greedy, prompt: prompts.fresh(prompt), max_tokens: tokens };
  });
  const startMs = performance.now();
  const all = await Promise.all(
    bodies.map((body) => streamCompletion(target.url, body, { signal })),
  );
  for (const streamed of all) checkTokens(streamed.tokens, tokens);
  const endMs = Math.max(...all.map(({ timesMs }) => timesMs.at(-1) ?? startMs));
  return { values: { speed: (count * tokens * 1000) / (endMs - startMs) } };
}

const neighbourTitles = ["no busy neighbour", "one busy neighbour", "two busy neighbours"];

function neighbourRow(count: 0 | 1 | 2, lines: readonly LinePlan[]): Row {
  const beside = neighbourTitles[count] ?? "";
  return {
    id: `neighbours-${count}`,
    title: `One stream beside ${beside}`,
    explanation:
      "One request of 64 tokens, counted from the first to the last, beside " +
      `${count === 0 ? "no other program" : `${count} that use up a core each`}. What is not done ` +
      "after 20 seconds is ended, shown as a limit, and not tried again.",
    shape: "streams",
    series: [speed],
    arms: [
      ...(["fast", "reproducible", "reproducible-1", "reproducible-2"] as const),
      ...(["peer", "peer-tuned"] as const),
    ],
    measure: (context) => besideNeighbours(count, () => measureLimited(context)),
    lines,
  };
}

const shownBeside = (beside: string): readonly LinePlan[] => [
  { title: `one stream, ${beside}`, series: "speed", ours: "reproducible", other: "peer" },
  {
    title: `one stream, ${beside}, against one thread`,
    series: "speed",
    ours: "fast",
    other: "peer-tuned",
  },
];

export const neighbourRows: readonly Row[] = [
  neighbourRow(0, shownBeside("no busy neighbour")),
  neighbourRow(1, shownBeside("one busy neighbour")),
  neighbourRow(2, [
    {
      title: "one stream beside two busy neighbours",
      series: "speed",
      ours: "reproducible",
      other: "peer",
      bar: atLeast(30),
    },
    {
      title: "one stream beside two busy neighbours, against one thread",
      series: "speed",
      ours: "fast",
      other: "peer-tuned",
      bar: atLeast(0.95),
    },
  ]),
];

async function measureLimited({
  target,
  prompts,
  sizes,
  signal,
}: MeasureContext): Promise<Readings> {
  const { prompt, tokens, limitMs } = sizes.neighbours;
  const body = { ...greedy, prompt: prompts.fresh(prompt), max_tokens: tokens };
  const leave = AbortSignal.timeout(limitMs);
  const streamed = await streamCompletion(target.url, body, { signal, leave });
  if (streamed.tokens > 0) return { values: { speed: generationSpeed(streamed, tokens) } };
  // One more was under way when the time was over.
  const value = ((streamed.timesMs.length + 1) * 1000) / limitMs;
  return { values: { speed: { value, bound: true } } };
}

function generationSpeed({ startMs, timesMs, tokens }: Streamed, expected: number): number {
  checkTokens(tokens, expected);
  const [first = startMs, last = startMs] = [timesMs[0], timesMs.at(-1)];
  // All at once, as only models of no weight do it: then the whole request is what can be timed.
  if (first === last) return (tokens * 1000) / (last - startMs);
  return ((tokens - 1) * 1000) / (last - first);
}

/** Servers are compared for the same work only. */
export function checkTokens(tokens: number, expected: number): void {
  if (tokens === expected) return;
  throw new BenchError("failed", `the answer has ${tokens} tokens instead of ${expected}`);
}
