/** Rows about prompts that are shared: eight answers to one, and many that begin alike. */
import { complete, greedy } from "../client.ts";
import { atMost, type MeasureContext, type Readings, type Row } from "../row.ts";
import { checkTokens } from "./streams.ts";

const answers = 8;

export const eightAnswers: Row = {
  id: "n-8",
  title: "Eight answers to a prompt of 900 tokens",
  explanation:
    "A fresh prompt of 900 tokens and 32 tokens for each of eight answers: once as one request with " +
    "n = 8, once as eight requests sent at once. The time until the last answer is complete.",
  shape: "prompts",
  series: [
    { key: "n", title: "one request, n = 8", unit: "s", better: "less" },
    { key: "separate", title: "eight requests at once", unit: "s", better: "less" },
  ],
  arms: ["fast", "reproducible", "exact", "peer", "peer-tuned", "peer-fetched"],
  once: ["peer-tuned", "peer-fetched"],
  measure: measureEight,
  lines: [
    {
      title: "n = 8 on a prompt of 900 tokens",
      series: "n",
      ours: "fast",
      other: "peer",
      bar: atMost(1.05),
    },
    {
      title: "n = 8 on a prompt of 900 tokens, against eight requests to the other",
      series: "n",
      otherSeries: "separate",
      ours: "reproducible",
      other: "peer",
      bar: atMost(1 / 4),
    },
    {
      title: "eight requests with one prompt of 900 tokens, at once",
      series: "separate",
      ours: "reproducible",
      other: "peer",
      bar: atMost(1 / 3),
    },
  ],
};

async function measureEight(context: MeasureContext): Promise<Readings> {
  const { target, prompts, sizes, signal } = context;
  const { prompt, tokens } = sizes.shared;
  const body = () => ({ ...greedy, prompt: prompts.fresh(prompt), max_tokens: tokens });
  const together = await complete(target.url, { ...body(), n: answers }, signal);
  // llama-server counts the first of several choices only.
  checkTokens(together.tokens, target.kind === "peer" ? tokens : answers * tokens);
  const shared = body();
  const startMs = performance.now();
  const all = await Promise.all(
    Array.from({ length: answers }, () => complete(target.url, shared, signal)),
  );
  const separateMs = performance.now() - startMs;
  for (const answered of all) checkTokens(answered.tokens, tokens);
  return { values: { n: together.elapsedMs / 1000, separate: separateMs / 1000 } };
}

export const sharedPrefix: Row = {
  id: "prefix",
  title: "Twenty requests that begin alike",
  explanation:
    "Twenty requests with the same 1,000 tokens in front, 16 tokens of their own behind and 16 " +
    "tokens to generate, one after the other and four at a time; the prefix is new in each round. " +
    "The time for all twenty.",
  shape: "prompts",
  series: [
    { key: "one", title: "one by one", unit: "s", better: "less" },
    { key: "four", title: "four at a time", unit: "s", better: "less" },
  ],
  arms: ["fast", "reproducible", "exact", "peer", "peer-tuned", "peer-fetched"],
  once: ["peer-tuned", "peer-fetched"],
  measure: async (context) => {
    const one = await measurePrefix(context, 1);
    const four = await measurePrefix(context, 4);
    return { values: { one, four } };
  },
  lines: [
    {
      title: "20 requests on one prefix of 1,000 tokens, one by one",
      series: "one",
      ours: "fast",
      other: "peer",
      bar: atMost(1.05),
    },
    {
      title: "20 requests on one prefix of 1,000 tokens, four at a time",
      series: "four",
      ours: "reproducible",
      other: "peer",
      bar: atMost(0.6),
    },
  ],
};

/** Seconds for all requests, `width` of them at any time. */
async function measurePrefix(
  { target, prompts, sizes, signal }: MeasureContext,
  width: number,
): Promise<number> {
  const { prompt, tail, tokens, requests } = sizes.prefix;
  const prefix = prompts.fresh(prompt);
  const bodies = Array.from({ length: requests }, () => {
    return { ...greedy, prompt: [...prefix, ...prompts.fresh(tail)], max_tokens: tokens };
  });
  const startMs = performance.now();
  const worker = async () => {
    for (let body = bodies.pop(); body !== undefined; body = bodies.pop()) {
      const answered = await complete(target.url, body, signal);
      checkTokens(answered.tokens, tokens);
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
  return (performance.now() - startMs) / 1000;
}
