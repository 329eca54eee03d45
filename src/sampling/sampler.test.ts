import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Sampler, type SamplerParameters } from "./sampler.ts";
import { scoreToken } from "./score.ts";
import { anyLogits, finiteLogits, rankedIds } from "./testing/logits.ts";
import { plainSampling } from "./testing/plain-sampling.ts";
import { uniform } from "./uniform.ts";

const off: SamplerParameters = { ...plainSampling, seed: 42 };

const greedy: SamplerParameters = { ...off, temperature: 0 };

function sampleOnce(
  logits: Float32Array,
  parameters: Partial<SamplerParameters>,
  { prompt = [] as number[], candidate = 0, banned = [] as number[] } = {},
): number {
  return new Sampler({ ...off, ...parameters }, prompt, candidate).sample(logits, banned);
}

/** Token and probability by sorting everything; undefined where rounding decides what is kept. */
function distributionByDefinition(
  logits: Float32Array,
  { temperature, topK, topP, minP }: SamplerParameters,
): Map<number, number> | undefined {
  const order = rankedIds(logits);
  const max = logits[order[0] ?? 0] ?? 0;
  let entries = order.map((id) => [id, Math.exp(((logits[id] ?? 0) - max) / temperature)] as const);
  if (topK > 0) entries = entries.slice(0, topK);
  const limit = topP * entries.reduce((total, [, weight]) => total + weight, 0);
  let sum = 0;
  let isClose = false;
  entries = entries.filter(([, weight]) => {
    const isKept = topP >= 1 || sum < limit;
    sum += weight;
    if (topP < 1 && Math.abs(sum / limit - 1) < 1e-9) isClose = true;
    return isKept;
  });
  entries = entries.filter(([, weight]) => weight >= minP);
  if (isClose) return undefined;
  const total = entries.reduce((before, [, weight]) => before + weight, 0);
  return new Map(entries.map(([id, weight]) => [id, weight / total]));
}

const truncation = fc.record({
  temperature: fc.constantFrom(0.05, 0.7, 1, 2),
  topK: fc.constantFrom(0, -1, 1, 3, 40, 150, 1000),
  topP: fc.constantFrom(1, 0.999999, 0.95, 0.5, 0.01),
  minP: fc.constantFrom(0, 0.0501, 0.9),
  seed: fc.maxSafeInteger().map(Math.abs),
});

describe("for any logits", () => {
  test("the draw is the inverse of the distribution that sorting gives, in the order of ids", () => {
    fc.assert(
      fc.property(finiteLogits, truncation, (logits, parameters) => {
        const expected = distributionByDefinition(logits, { ...off, ...parameters });
        fc.pre(expected !== undefined);
        const token = sampleOnce(logits, parameters);
        const share = uniform(parameters.seed, 0, 0);
        let below = 0;
        for (const id of [...expected.keys()].filter((key) => key < token)) {
          below += expected.get(id) ?? 0;
        }
        expect(expected.has(token)).toBe(true);
        expect(below).toBeLessThanOrEqual(share + 1e-9);
        expect(below + (expected.get(token) ?? 0)).toBeGreaterThanOrEqual(share - 1e-9);
      }),
      { numRuns: 1000 },
    );
  });

  test("a token that can be drawn is drawn, and the row is not changed", () => {
    fc.assert(
      fc.property(anyLogits, truncation, fc.boolean(), (logits, parameters, isGreedy) => {
        const before = Float32Array.from(logits);
        const token = sampleOnce(logits, isGreedy ? greedy : parameters);
        expect(logits).toEqual(before);
        expect(token in logits).toBe(true);
        if (logits.some((logit) => logit > -Infinity))
          expect(logits[token]).toBeGreaterThan(-Infinity);
      }),
      { numRuns: 300 },
    );
  });

  test("temperature 0, top_p 0, top_k 1 and tiny temperatures take the likeliest, lowest id", () => {
    fc.assert(
      fc.property(anyLogits, (logits) => {
        fc.pre(logits.some((logit) => logit > -Infinity));
        const best = rankedIds(logits)[0];
        expect(sampleOnce(logits, { temperature: 0 })).toBe(best);
        expect(sampleOnce(logits, { topP: 0 })).toBe(best);
        expect(sampleOnce(logits, { topK: 1 })).toBe(best);
        expect(sampleOnce(logits, { temperature: 5e-324 })).toBe(best);
        const cold = sampleOnce(logits, { temperature: 1e-10 });
        expect(logits[cold]).toBeCloseTo(logits[best ?? 0] ?? 0, 7);
      }),
    );
  });
});

test("the frequencies of many draws follow the distribution", () => {
  const logits = Float32Array.from({ length: 16 }, (_, id) => Math.sin(id * 7) * 2);
  for (const temperature of [0.5, 1, 2]) {
    const parameters = { ...off, temperature };
    const expected = distributionByDefinition(logits, parameters) ?? new Map<number, number>();
    const sampler = new Sampler(parameters, [], 0);
    const draws = 40_000;
    const counts = new Array<number>(16).fill(0);
    for (let draw = 0; draw < draws; draw += 1) {
      const token = sampler.sample(logits, []);
      counts[token] = (counts[token] ?? 0) + 1;
    }
    const chiSquare = counts.reduce((total, count, id) => {
      const mean = (expected.get(id) ?? 0) * draws;
      return total + (count - mean) ** 2 / mean;
    }, 0);
    // 15 degrees of freedom: 55 is exceeded about once in 500,000 tries.
    expect(chiSquare).toBeLessThan(55);
  }
});

test("a candidate draws the same whatever other candidates do in between", () => {
  const logits = new Float32Array(1000);
  const draw = (sampler: Sampler) => sampler.sample(logits, []);
  const alone = new Sampler(off, [], 3);
  const expected = Array.from({ length: 20 }, () => draw(alone));
  const third = new Sampler(off, [], 3);
  const others = [0, 1, 2].map((candidate) => new Sampler({ ...off, topP: 0.5 }, [], candidate));
  const beside = Array.from({ length: 20 }, (_, step) => {
    if (step % 3 === 0) others.map(draw);
    return draw(third);
  });
  expect(beside).toEqual(expected);
  const fourth = new Sampler(off, [], 4);
  expect(Array.from({ length: 20 }, () => draw(fourth))).not.toEqual(expected);
});

test("a nucleus that is reached exactly is not widened by rounding", () => {
  const logits = new Float32Array(10);
  for (const [topP, size] of [
    [0.3, 3],
    [0.6, 6],
    [0.7, 7],
    [0.9, 9],
    [0.05, 1],
  ] as const) {
    const sampler = new Sampler({ ...off, topP }, [], 0);
    const drawn = new Set(Array.from({ length: 500 }, () => sampler.sample(logits, [])));
    expect(drawn.size).toBe(size);
    expect(Math.max(...drawn)).toBe(size - 1);
  }
});

describe("bias and penalties", () => {
  /** The next greedy token after some tokens were generated. */
  function greedyAfter(
    tokens: readonly number[],
    logits: readonly number[],
    parameters: Partial<SamplerParameters>,
    prompt: number[] = [],
  ): number {
    const sampler = new Sampler({ ...greedy, ...parameters }, prompt, 0);
    for (const token of tokens) {
      const row = new Float32Array(logits.length);
      row[token] = 1e4;
      sampler.sample(row, []);
    }
    return sampler.sample(Float32Array.from(logits), []);
  }

  test("bias counts at temperature 0; 100 makes a token certain and -100 bans it", () => {
    expect(sampleOnce(Float32Array.of(5, 4, 3), { temperature: 0, logitBias: [[2, 2.5]] })).toBe(2);
    expect(sampleOnce(Float32Array.of(5, 4, 3), { logitBias: [[1, 100]] })).toBe(1);
    expect(sampleOnce(Float32Array.of(5, 4, 3), { temperature: 0, logitBias: [[0, -100]] })).toBe(
      1,
    );
    expect(
      sampleOnce(Float32Array.of(5, 4, 3), {
        logitBias: [
          [9, 100],
          [2, 100],
        ],
      }),
    ).toBe(2);
  });

  test("frequency counts how often, presence whether, and only generated tokens", () => {
    // 3 - 2 * 0.5 - 0.6 = 1.4
    const parameters = { frequencyPenalty: 0.5, presencePenalty: 0.6 };
    expect(greedyAfter([0, 0], [3, 1.41], parameters)).toBe(1);
    expect(greedyAfter([0, 0], [3, 1.39], parameters)).toBe(0);
    expect(greedyAfter([], [3, 2.9], parameters, [0, 0, 0])).toBe(0);
    // Negative penalties favour: 1 + 2 * 2 = 5
    expect(greedyAfter([0, 0], [1, 4.9], { frequencyPenalty: -2 })).toBe(0);
    expect(greedyAfter([0, 0], [1, 5.1], { frequencyPenalty: -2 })).toBe(1);
  });

  test("repetition divides positive and multiplies negative logits of prompt and generated", () => {
    expect(greedyAfter([], [4, 2.1], { repetitionPenalty: 2 }, [0])).toBe(1);
    expect(greedyAfter([], [4, 1.9], { repetitionPenalty: 2 }, [0])).toBe(0);
    expect(greedyAfter([0], [4, 2.1], { repetitionPenalty: 2 })).toBe(1);
    expect(greedyAfter([], [-1, -1.9], { repetitionPenalty: 2 }, [0])).toBe(1);
    expect(greedyAfter([], [-1, -2.1], { repetitionPenalty: 2 }, [0])).toBe(0);
  });

  test("bias comes before the repetition penalty, that before frequency and presence", () => {
    // (1 + 5) / 2 = 3, not 1 / 2 + 5
    expect(greedyAfter([], [1, 3.1], { repetitionPenalty: 2, logitBias: [[0, 5]] }, [0])).toBe(1);
    // 6 / 2 - 1 = 2, not (6 - 1) / 2
    expect(greedyAfter([0], [6, 2.1], { repetitionPenalty: 2, frequencyPenalty: 1 })).toBe(1);
  });

  test("truncation sees adjusted logits", () => {
    const parameters = { topK: 1, logitBias: [[2, 10]] as [number, number][] };
    expect(sampleOnce(Float32Array.of(5, 4, 3), parameters)).toBe(2);
  });
});

describe("banned tokens", () => {
  const logits = Float32Array.of(1, 50, 2, 40);

  test("are drawn neither greedily nor by chance, whatever their bias", () => {
    expect(sampleOnce(logits, { temperature: 0 }, { banned: [1] })).toBe(3);
    expect(sampleOnce(logits, { logitBias: [[1, 100]] }, { banned: [1, 3] })).not.toBe(1);
    expect(sampleOnce(logits, { topK: 1 }, { banned: [1, 3] })).toBe(2);
  });

  test("are drawn when there is nothing else: the likeliest", () => {
    expect(sampleOnce(logits, {}, { banned: [0, 1, 2, 3] })).toBe(1);
    expect(sampleOnce(Float32Array.of(-Infinity, 7), {}, { banned: [1] })).toBe(0);
  });

  test("with everything at -100 the likeliest of the least banned is taken", () => {
    const logitBias = [0, 1, 2, 3].map((id) => [id, id === 2 ? -90 : -100] as const);
    expect(sampleOnce(Float32Array.of(1, 2, 1, 1), { temperature: 0, logitBias })).toBe(2);
  });
});

test("the sum that a draw found gives the same score as the row itself, or there is none", () => {
  const variants = [{}, { temperature: 0.7 }, { topP: 0.5 }, { presencePenalty: 1 }, { topK: 2 }];
  fc.assert(
    fc.property(anyLogits, fc.constantFrom(...variants), fc.nat(6), (logits, change, count) => {
      const sampler = new Sampler({ ...off, ...change }, [], 0);
      const token = sampler.sample(logits, []);
      const { rawSum } = sampler;
      if ("temperature" in change || "presencePenalty" in change) expect(rawSum).toBeUndefined();
      const scored = scoreToken(logits, token, count, rawSum);
      expect(scored).toEqual(scoreToken(logits, token, count));
    }),
  );
});
