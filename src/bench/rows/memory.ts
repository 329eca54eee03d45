/** Rows about memory: over many requests, and with more models than there is room for. */
import { complete, greedy, streamCompletion } from "../client.ts";
import { residentBytes } from "../own-metrics.ts";
import { treeBytes } from "../process-bytes.ts";
import { atMost, type MeasureContext, type Readings, type Row } from "../row.ts";

const megabyte = 1_000_000;
const width = 8;
const checkpoints = 10;
/** The peer's growth shows in fewer requests. */
const peerRequestsMax = 2_000;

export const memory: Row = {
  id: "memory",
  title: "Memory over many requests",
  explanation:
    "Small requests of a mix (with and without stream, one or two answers, 4 to 40 prompt tokens, 1 to " +
    "8 generated), eight at a time. Memory is what the system says of all processes of a server, " +
    "a page that they share counted once where it tells, less the model file and the key-value " +
    "cache in full; growth is from the first tenth of the requests to the last. llama-server gets " +
    "fewer requests.",
  shape: "streams",
  series: [
    { key: "over", title: "over model file and cache, at the end", unit: "MB", better: "less" },
    {
      key: "resident",
      title: "the same, shared pages counted in each process",
      unit: "MB",
      better: "less",
    },
    { key: "growth", title: "growth after the first tenth", unit: "MB", better: "less" },
  ],
  arms: ["reproducible", "peer"],
  measure: measureMemory,
  lines: [
    {
      title: "memory over the model file and the cache, after all requests",
      series: "over",
      ours: "reproducible",
      bar: atMost(250),
    },
    { title: "growth of memory, last nine tenths", series: "growth", ours: "reproducible" },
  ],
  named: true,
  single: true,
  limitMs: 3 * 60 * 60_000,
};

async function measureMemory(context: MeasureContext): Promise<Readings> {
  const { target, modelBytes, cacheBytes } = context;
  const requests =
    target.kind === "own" ? context.requests : Math.min(context.requests, peerRequestsMax);
  const points: [number, number][] = [];
  let resident = 0;
  const note = async (done: number) => {
    const bytes = await treeBytes(target.pid);
    resident = bytes.resident / megabyte;
    points.push([done, (bytes.proportional ?? bytes.resident) / megabyte]);
  };
  await note(0);
  const part = Math.max(1, Math.ceil(requests / checkpoints));
  for (let done = 0; done < requests; ) {
    const count = Math.min(part, requests - done);
    await sendMix(context, count);
    done += count;
    await note(done);
  }
  const [, first] = points[1] ?? [0, 0];
  const [, last] = points.at(-1) ?? [0, 0];
  const expected = (modelBytes + cacheBytes) / megabyte;
  return {
    values: { over: last - expected, resident: resident - expected, growth: last - first },
    traces: [{ title: "MB of memory after so many requests", points }],
  };
}

async function sendMix({ target, prompts, signal }: MeasureContext, count: number): Promise<void> {
  let left = count;
  const worker = async () => {
    while (left > 0) {
      const kind = left--;
      const body = {
        ...greedy,
        prompt: prompts.fresh(4 + (kind % 37)),
        max_tokens: 1 + (kind % 8),
        ...(kind % 5 === 0 ? { n: 2 } : {}),
      };
      if (kind % 3 === 0) await streamCompletion(target.url, body, { signal });
      else await complete(target.url, body, signal);
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
}

const names = ["first", "second", "third"];
const turns = 4;
/** Models that fit; with less than half to spare the third never does. */
const fitting = 2.4;

export const models: Row = {
  id: "models",
  title: "Three models by turns, with memory for two",
  explanation:
    "One server has three models (the same file under three names) and a memory limit that two of them " +
    "fill. Requests of 16 tokens name them by turns, so that each has to be loaded anew, and the same " +
    "is asked of a server of one model. The share is of what the engines take when a request has " +
    "been answered, at most, of the limit.",
  shape: "streams",
  series: [
    { key: "turn", title: "request to a model by turns", unit: "ms", better: "less" },
    { key: "loaded", title: "request to a model that is loaded", unit: "ms", better: "less" },
    { key: "share", title: "memory of the engines, of the limit", unit: "%", better: "less" },
  ],
  arms: ["reproducible"],
  measure: measureModels,
  lines: [
    {
      title: "memory of three models by turns, of the limit",
      series: "share",
      ours: "reproducible",
      bar: atMost(100),
    },
  ],
  single: true,
};

async function measureModels(context: MeasureContext): Promise<Readings> {
  const { target, prompts, signal, startPool } = context;
  const limitBytes = fitting * context.engineBytes;
  const ask = async (url: string, model: object): Promise<number> => {
    const body = { ...greedy, ...model, prompt: prompts.fresh(16), max_tokens: 16 };
    return (await complete(url, body, signal)).elapsedMs;
  };
  const loaded = await ask(target.url, {});
  const pool = await startPool(names, limitBytes);
  try {
    const elapsedMs: number[] = [];
    let engineBytes = 0;
    for (let turn = 0; turn < turns * names.length; turn++) {
      elapsedMs.push(await ask(pool.url, { model: names[turn % names.length] }));
      engineBytes = Math.max(engineBytes, (await residentBytes(pool.url, signal)).engine);
    }
    const turn = elapsedMs.reduce((sum, each) => sum + each, 0) / elapsedMs.length;
    return { values: { turn, loaded, share: (100 * engineBytes) / limitBytes } };
  } finally {
    await pool.stop();
  }
}
