/** Chooses the next token of one candidate from a row of raw logits. */
import { rowKernels } from "./kernels/row-kernels.ts";
import { Penalties, type PenaltyParameters } from "./penalties.ts";
import type { RowSum } from "./score.ts";
import { TokenPool } from "./token-pool.ts";
import { uniform } from "./uniform.ts";

/** The sampling parameters of a job; engine/ documents them. */
export interface SamplerParameters extends PenaltyParameters {
  /** 0: the most likely token, always. */
  readonly temperature: number;
  /** 0: as temperature 0. 1: off. */
  readonly topP: number;
  /** 0 or less: off. */
  readonly topK: number;
  /** 0: off. */
  readonly minP: number;
  readonly seed: number;
}

/** Shared memory of all samplers: filled anew for each draw, nothing in it outlives one. */
const pool = new TokenPool();

export class Sampler {
  readonly #parameters: SamplerParameters;
  readonly #candidate: number;
  readonly #penalties: Penalties;
  readonly #isGreedy: boolean;
  #position = 0;
  #rawSum: RowSum | undefined;

  /** `candidate` is its number within the job: candidates of one seed draw differently. */
  constructor(parameters: SamplerParameters, prompt: readonly number[], candidate: number) {
    this.#parameters = parameters;
    this.#candidate = candidate;
    this.#penalties = new Penalties(parameters, prompt);
    // A temperature whose inverse is no number leaves nothing but the likeliest token.
    this.#isGreedy = !Number.isFinite(1 / parameters.temperature) || parameters.topP === 0;
  }

  /** What the last draw found out about its row, where it looked at the row as it was. */
  get rawSum(): RowSum | undefined {
    return this.#rawSum;
  }

  /**
   * The next token. `logits` is not changed; `banned` tokens are not drawn while anything else can
   * be. The steps: bias, penalties, temperature, top_k, top_p, min_p, draw. Each call is one
   * position of the candidate.
   */
  sample(logits: Float32Array, banned: readonly number[]): number {
    const token = this.#choose(logits, banned);
    this.#penalties.accept(token);
    this.#position += 1;
    return token;
  }

  #choose(logits: Float32Array, banned: readonly number[]): number {
    rowKernels.load(logits);
    this.#penalties.apply(rowKernels.values);
    for (const token of banned) rowKernels.values[token] = Number.NEGATIVE_INFINITY;
    const { temperature, topK, topP, minP, seed } = this.#parameters;
    this.#rawSum = undefined;
    if (this.#isGreedy || !pool.start(temperature)) {
      return rowKernels.argmax() ?? leastBanned(logits, banned);
    }
    const isRaw = temperature === 1 && banned.length === 0 && !this.#penalties.active;
    if (isRaw) this.#rawSum = pool.rowSum;
    if (topK > 0) pool.keepTop(topK);
    if (topP < 1) pool.keepShare(topP);
    if (minP > 0) pool.keepWeight(minP);
    return pool.draw(uniform(seed, this.#candidate, this.#position));
  }
}

/** When nothing can be drawn: a token that is not banned, else the likeliest of all. */
function leastBanned(logits: Float32Array, banned: readonly number[]): number {
  const isBanned = new Set(banned);
  const open = logits.findIndex((_, token) => !isBanned.has(token));
  if (open !== -1) return open;
  rowKernels.load(logits);
  return rowKernels.argmax() ?? 0;
}
