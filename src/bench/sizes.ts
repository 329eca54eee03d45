/** How much each row does: as published, and for a quick look. */

export interface Shape {
  readonly slots: number;
  /** Tokens of one sequence. */
  readonly context: number;
}

export interface Sizes {
  readonly shapes: Readonly<Record<"streams" | "wide" | "prompts" | "long", Shape>>;
  readonly oneStream: { readonly prompt: number; readonly tokens: number };
  readonly streams: { readonly prompt: number; readonly tokens: number };
  readonly shared: { readonly prompt: number; readonly tokens: number };
  readonly prefix: {
    readonly prompt: number;
    readonly tail: number;
    readonly tokens: number;
    readonly requests: number;
  };
  readonly scoredTokens: number;
  readonly readTokens: number;
  readonly long: {
    readonly prompt: number;
    /** Tokens of each stream before the long prompt comes. */
    readonly before: number;
    readonly cancelAfterMs: number;
  };
  readonly neighbours: {
    readonly prompt: number;
    readonly tokens: number;
    readonly limitMs: number;
  };
}

const full: Sizes = {
  shapes: {
    streams: { slots: 8, context: 1024 },
    wide: { slots: 16, context: 512 },
    prompts: { slots: 8, context: 1280 },
    long: { slots: 8, context: 5120 },
  },
  oneStream: { prompt: 16, tokens: 192 },
  streams: { prompt: 128, tokens: 64 },
  shared: { prompt: 900, tokens: 32 },
  prefix: { prompt: 1000, tail: 16, tokens: 16, requests: 20 },
  scoredTokens: 640,
  readTokens: 900,
  long: { prompt: 4000, before: 32, cancelAfterMs: 500 },
  neighbours: { prompt: 16, tokens: 64, limitMs: 20_000 },
};

/** One shape, so that rows share servers. */
const quickShape: Shape = { slots: 16, context: 512 };

/** Fits a model of 512 tokens; the figures mean nothing. */
const quick: Sizes = {
  shapes: {
    streams: quickShape,
    wide: quickShape,
    prompts: quickShape,
    long: quickShape,
  },
  oneStream: { prompt: 8, tokens: 16 },
  streams: { prompt: 16, tokens: 8 },
  shared: { prompt: 96, tokens: 4 },
  prefix: { prompt: 128, tail: 8, tokens: 4, requests: 6 },
  scoredTokens: 96,
  readTokens: 96,
  long: { prompt: 400, before: 4, cancelAfterMs: 20 },
  neighbours: { prompt: 8, tokens: 8, limitMs: 2_000 },
};

export function sizesFor(isQuick: boolean): Sizes {
  return isQuick ? quick : full;
}
