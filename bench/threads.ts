/**
 * What threads are worth beside busy neighbours: tokens a second of one stream, and of reading
 * prompts, with one thread, with one for each core, and adaptive. Alternates between the three, so
 * that whatever else runs hits all of them; prints medians and ranges.
 *
 *   node bench/threads.ts [--rounds 3] [--seconds 6] [--neighbours 0,1,2] [--model FILE]
 *
 * Neighbours are endless loops in processes of their own, which end after each measurement.
 */
import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { type ServerProcess, startServer } from "../test/support/server-process.ts";

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    seconds: { type: "string", default: "6" },
    neighbours: { type: "string", default: "0,1,2" },
    model: { type: "string" },
  },
});
const rounds = Number(options.rounds);
const durationMs = Number(options.seconds) * 1000;
const neighbourCounts = options.neighbours.split(",").map(Number);
const cores = availableParallelism();
const shape = ["--slots", "2", "--context", "2048", "--log-level", "warn"];
const model = options.model === undefined ? [] : ["--model", options.model];

/** Arms by name; each is a server. */
const arms: Readonly<Record<string, readonly string[]>> = {
  "1 thread": ["--threads", "1"],
  [`${cores} threads`]: ["--threads", String(cores)],
  adaptive: [],
};

const servers = new Map<string, ServerProcess>();
try {
  for (const [name, flags] of Object.entries(arms)) {
    servers.set(name, await startServer([...shape, ...model, ...flags]));
  }
  await table("Generating, one stream (tokens/s)", generate);
  await table("Reading prompts of 250 tokens (tokens/s)", read);
} finally {
  for (const server of servers.values()) await server.stop();
}

type Measure = (url: string, signal: AbortSignal) => Promise<number>;

async function table(title: string, measure: Measure): Promise<void> {
  console.log(`\n${title}, ${cores} cores, ${rounds} rounds of ${options.seconds} s\n`);
  console.log(`| busy neighbours | ${[...servers.keys()].join(" | ")} |`);
  console.log(`| --- |${" ---: |".repeat(servers.size)}`);
  for (const count of neighbourCounts) {
    const figures = new Map<string, number[]>();
    for (let round = 0; round < rounds; round++) {
      for (const [name, { url }] of servers) {
        const speed = await besideNeighbours(count, () => speedOf(url, measure));
        figures.set(name, [...(figures.get(name) ?? []), speed]);
      }
    }
    console.log(`| ${count} | ${[...figures.values()].map(spread).join(" | ")} |`);
  }
}

/** Work of one kind, again and again, for as long as a measurement lasts. */
async function speedOf(url: string, measure: Measure): Promise<number> {
  const startMs = performance.now();
  const signal = AbortSignal.timeout(durationMs);
  let tokens = 0;
  while (!signal.aborted) tokens += await measure(url, signal);
  return (tokens / (performance.now() - startMs)) * 1000;
}

/** Tokens that came before the time was over. */
async function generate(url: string, signal: AbortSignal): Promise<number> {
  const body = { prompt: "Once upon a time", max_tokens: 200, stream: true, temperature: 1 };
  let tokens = 0;
  try {
    const response = await post(url, body, signal);
    if (response.body === null) throw new Error("there is no stream");
    const decoder = new TextDecoder();
    for await (const bytes of response.body) {
      tokens += decoder.decode(bytes, { stream: true }).split('"text":').length - 1;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return tokens;
}

async function read(url: string, signal: AbortSignal): Promise<number> {
  const length = 250;
  const prompt = Array.from({ length }, () => 1_000 + Math.floor(Math.random() * 40_000));
  try {
    await (await post(url, { prompt, max_tokens: 1 }, signal)).text();
    return length;
  } catch (error) {
    if (!signal.aborted) throw error;
    return 0;
  }
}

async function post(url: string, body: object, signal: AbortSignal): Promise<Response> {
  const response = await fetch(`${url}/v1/completions`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ ...body, ignore_eos: true }),
    signal,
  });
  if (!response.ok) throw new Error(await response.text());
  return response;
}

async function besideNeighbours<Result>(
  count: number,
  work: () => Promise<Result>,
): Promise<Result> {
  // Should this process die, they end by themselves.
  const loop = `const end = Date.now() + ${durationMs + 5_000}; while (Date.now() < end);`;
  const neighbours = Array.from({ length: count }, () =>
    spawn(process.execPath, ["-e", loop], { stdio: "ignore" }),
  );
  try {
    return await work();
  } finally {
    for (const neighbour of neighbours) neighbour.kill("SIGKILL");
  }
}

function spread(values: readonly number[]): string {
  const sorted = values.toSorted((left, right) => left - right);
  const round = (value = 0) => value.toFixed(value < 10 ? 1 : 0);
  return `${round(sorted[sorted.length >> 1])} (${round(sorted[0])}-${round(sorted.at(-1))})`;
}
