/**
 * The engine against bare loops over the library, and what the numerics modes cost. Alternates
 * between the two, so that a busy moment hits both; prints medians, ranges and ratios.
 *
 *   npm run bench [-- --rounds 5 --threads 1 --json FILE]
 */
import { writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ensureDefaultModel } from "../src/models/served-model.ts";
import { type ServerProcess, startServer } from "../test/support/server-process.ts";
import { bareLoop } from "./support/bare.ts";
import { complete, freshPrompt, stream } from "./support/client.ts";
import { median, percentile, spread } from "./support/statistics.ts";

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    threads: { type: "string", default: "1" },
    json: { type: "string" },
  },
});
const rounds = Number(options.rounds);
const threads = Number(options.threads);
const cache = process.env.COMPLETIONIST_CACHE ?? join(homedir(), ".cache", "completionist");
const { path: model } = await ensureDefaultModel({ cache });
const results: Record<string, unknown> = { rounds, threads };

await againstBareLoops();
await numericsTable();
await underLoad();
if (options.json !== undefined) {
  writeFileSync(options.json, `${JSON.stringify(results, null, 2)}\n`);
}

async function againstBareLoops(): Promise<void> {
  const server = await serve("reproducible");
  const rows: Record<string, [bare: number[], own: number[]]> = {
    "one stream": [[], []],
    scoring: [[], []],
  };
  try {
    await oneStream(server, 32);
    for (let round = 0; round < rounds; round++) {
      rows["one stream"]?.[0].push(await bareLoop(model, "decode", "reproducible", threads, 192));
      rows["one stream"]?.[1].push(await oneStream(server, 193));
      rows.scoring?.[0].push(await bareLoop(model, "score", "reproducible", threads, 640));
      rows.scoring?.[1].push(await scoring(server, 640));
    }
  } finally {
    await server.stop();
  }
  print(`\nAgainst bare loops (tokens/s, reproducible, ${threads} thread(s), ${rounds} rounds)\n`);
  print("| what | bare loop | server | ratio of medians |\n| --- | ---: | ---: | ---: |");
  for (const [name, [bare, own]] of Object.entries(rows)) {
    const ratio = median(own) / median(bare);
    print(`| ${name} | ${spread(bare)} | ${spread(own)} | ${ratio.toFixed(3)} |`);
    results[name] = { bare, own, ratio };
  }
}

async function numericsTable(): Promise<void> {
  const modes = ["fast", "reproducible", "exact"] as const;
  const servers = new Map<string, ServerProcess>();
  for (const mode of modes) servers.set(mode, await serve(mode));
  const measures = {
    "prompt of 900": async (server: ServerProcess) => {
      const body = { prompt: freshPrompt(900), max_tokens: 1, temperature: 0 };
      return (900 / (await complete(server.url, body))) * 1000;
    },
    "1 stream": (server: ServerProcess) => streams(server, 1),
    "4 streams": (server: ServerProcess) => streams(server, 4),
    "8 streams": (server: ServerProcess) => streams(server, 8),
  };
  print(`\nNumerics (tokens/s in all, ${threads} thread(s), ${rounds} rounds)\n`);
  print(`| what | ${modes.join(" | ")} |\n| --- | ---: | ---: | ---: |`);
  try {
    for (const [name, measure] of Object.entries(measures)) {
      const figures = new Map<string, number[]>(modes.map((mode) => [mode, []]));
      for (let round = 0; round < rounds; round++) {
        for (const [mode, server] of servers) figures.get(mode)?.push(await measure(server));
      }
      print(`| ${name} | ${[...figures.values()].map((values) => spread(values)).join(" | ")} |`);
      results[`numerics, ${name}`] = Object.fromEntries(figures);
    }
  } finally {
    for (const server of servers.values()) await server.stop();
  }
}

async function underLoad(): Promise<void> {
  const server = await serve("reproducible");
  try {
    await sharedPrompts(server);
    await gaps(server);
    await cancelled(server);
  } finally {
    await server.stop();
  }
}

async function sharedPrompts(server: ServerProcess): Promise<void> {
  const figures: Record<string, number[]> = {};
  const note = (name: string, value: number) => {
    figures[name] = [...(figures[name] ?? []), value];
  };
  const body = { max_tokens: 16, temperature: 1, logit_bias: { 50256: -100 } };
  for (let round = 0; round < rounds; round++) {
    note("one request", await complete(server.url, { ...body, prompt: freshPrompt(900) }));
    const together = freshPrompt(900);
    const startMs = performance.now();
    const separate = Array.from({ length: 8 }, (_, seed) =>
      complete(server.url, { ...body, prompt: together, seed }),
    );
    await Promise.all(separate);
    note("8 separate requests at once", performance.now() - startMs);
    note("n=8", await complete(server.url, { ...body, prompt: freshPrompt(900), n: 8 }));
    const wide = { ...body, prompt: freshPrompt(900), n: 128, max_tokens: 4 };
    note("n=128, 4 tokens each", await complete(server.url, wide));
    const best = { ...body, prompt: freshPrompt(900), best_of: 20 };
    note("best_of=20", await complete(server.url, best));
  }
  print(
    "\nOne prompt of 900 tokens, 16 tokens each, 8 slots (ms)\n\n| what | ms |\n| --- | ---: |",
  );
  for (const [name, values] of Object.entries(figures)) print(`| ${name} | ${spread(values)} |`);
  results.sharedPrompts = figures;
}

async function gaps(server: ServerProcess): Promise<void> {
  const body = { max_tokens: 160, temperature: 1, ignore_eos: true };
  const alone: number[] = [];
  const beside: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const four = () =>
      Array.from({ length: 4 }, () => stream(server.url, { ...body, prompt: freshPrompt(20) }));
    for (const { gapsMs } of await Promise.all(four())) alone.push(...gapsMs);
    const running = four();
    const long = complete(server.url, { prompt: freshPrompt(4000), max_tokens: 1 });
    for (const { gapsMs } of await Promise.all(running)) beside.push(...gapsMs);
    await long;
  }
  const row = (values: number[]) => [50, 99, 100].map((p) => percentile(values, p).toFixed(0));
  print("\nGap between tokens of 4 streams (ms)\n\n| what | median | p99 | largest |");
  print("| --- | ---: | ---: | ---: |");
  print(`| alone | ${row(alone).join(" | ")} |`);
  print(`| while 4,000 tokens are read | ${row(beside).join(" | ")} |`);
  results.gaps = { alone: row(alone), beside: row(beside) };
}

async function cancelled(server: ServerProcess): Promise<void> {
  const freedMs: number[] = [];
  const quietMs: number[] = [];
  const probe = () => complete(server.url, { prompt: "Hello", max_tokens: 1, temperature: 0 });
  for (let round = 0; round < rounds; round++) {
    quietMs.push(await probe());
    const abort = new AbortController();
    const body = { prompt: freshPrompt(3000), max_tokens: 1 };
    const long = stream(server.url, body, abort.signal).catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, 500));
    const startMs = performance.now();
    abort.abort();
    await probe();
    freedMs.push(performance.now() - startMs);
    await long;
  }
  print("\nA 3,000-token prompt cancelled in mid-read (ms until a small request is answered)\n");
  print("| what | ms |\n| --- | ---: |");
  print(`| on an idle server | ${spread(quietMs)} |\n| after the cancel | ${spread(freedMs)} |`);
  results.cancelled = { quietMs, freedMs };
}

async function oneStream(server: ServerProcess, tokens: number): Promise<number> {
  const body = { prompt: freshPrompt(16), max_tokens: tokens, temperature: 0, ignore_eos: true };
  const completion = await stream(server.url, body);
  return ((completion.tokens - 1) / completion.generationMs) * 1000;
}

async function scoring(server: ServerProcess, tokens: number): Promise<number> {
  const body = { prompt: freshPrompt(tokens), max_tokens: 0, echo: true, logprobs: 1 };
  return (tokens / (await complete(server.url, body))) * 1000;
}

/** Tokens a second of several streams together, from the first token to the last of all. */
async function streams(server: ServerProcess, count: number): Promise<number> {
  const body = { max_tokens: 96, temperature: 0, ignore_eos: true };
  const startMs = performance.now();
  const all = await Promise.all(
    Array.from({ length: count }, () => stream(server.url, { ...body, prompt: freshPrompt(16) })),
  );
  const first = Math.min(...all.map(({ firstTokenMs }) => firstTokenMs));
  const elapsedMs = performance.now() - startMs - first;
  return (all.reduce((sum, { tokens }) => sum + tokens, 0) / elapsedMs) * 1000;
}

function serve(numerics: string): Promise<ServerProcess> {
  return startServer(["--threads", String(threads), "--numerics", numerics, "--log-level", "warn"]);
}

function print(line: string): void {
  console.log(line);
}
