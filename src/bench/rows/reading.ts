/** Rows about prompts that are read: plainly, and with a logprob for every token. */
import { complete, greedy } from "../client.ts";
import { atLeast, type Row } from "../row.ts";
import { modeLines } from "../verdict.ts";

const speed = { key: "speed", title: "speed", unit: "tokens/s", better: "more" } as const;

export const reading: Row = {
  id: "reading",
  title: "Reading a prompt of 900 tokens",
  explanation:
    "A fresh prompt of 900 tokens and one token to generate: prompt tokens by the time of the whole " +
    "request. The bare loop reads the same length in chunks of 512.",
  shape: "prompts",
  series: [speed],
  arms: [
    ...(["fast", "reproducible", "exact", "bare-fast", "bare-reproducible"] as const),
    ...(["peer", "peer-tuned", "peer-fetched"] as const),
  ],
  measure: async ({ target, prompts, sizes, signal }) => {
    const { readTokens } = sizes;
    const body = { ...greedy, prompt: prompts.fresh(readTokens), max_tokens: 1 };
    const { elapsedMs } = await complete(target.url, body, signal);
    return { values: { speed: (readTokens * 1000) / elapsedMs } };
  },
  bare: { work: "read", tokens: (sizes) => sizes.readTokens, series: "speed" },
  lines: [
    {
      title: "reading a prompt, against a bare loop",
      series: "speed",
      ours: "fast",
      other: "bare-fast",
    },
    { title: "reading a prompt of 900 tokens", series: "speed", ours: "fast", other: "peer" },
    ...modeLines("reading a prompt of 900 tokens", "speed"),
  ],
};

export const scoring: Row = {
  id: "scoring",
  title: "Scoring a text of 640 tokens",
  explanation:
    "`echo` with `logprobs` 1 and no token to generate: prompt tokens by the time of the whole " +
    "request. The bare loop computes the logits of all rows in chunks of 128 and looks at none. " +
    "llama-server ignores `echo` and cannot do this at all.",
  shape: "prompts",
  series: [speed],
  arms: [
    ...(["fast", "reproducible", "exact", "reproducible-1"] as const),
    ...(["bare-fast", "bare-reproducible"] as const),
  ],
  measure: async ({ target, prompts, sizes, signal }) => {
    const { scoredTokens } = sizes;
    const body = { prompt: prompts.fresh(scoredTokens), max_tokens: 0, echo: true, logprobs: 1 };
    const { elapsedMs } = await complete(target.url, body, signal);
    return { values: { speed: (scoredTokens * 1000) / elapsedMs } };
  },
  bare: { work: "score", tokens: (sizes) => sizes.scoredTokens, series: "speed" },
  lines: [
    {
      title: "scoring, against a bare loop with all logits, both with one thread",
      series: "speed",
      ours: "reproducible-1",
      other: "bare-reproducible",
      bar: atLeast(0.85),
    },
  ],
};
