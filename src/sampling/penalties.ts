/** What is added to or taken from logits before a draw: bias, and penalties on seen tokens. */

export interface PenaltyParameters {
  readonly frequencyPenalty: number;
  readonly presencePenalty: number;
  /** 1: off. Looks at prompt and generated tokens. */
  readonly repetitionPenalty: number;
  readonly logitBias: readonly (readonly [token: number, bias: number])[];
}

/** The tokens of one candidate, as far as penalties need them. */
export class Penalties {
  readonly #parameters: PenaltyParameters;
  readonly #countsGenerated: boolean;
  /** How often each token was generated. */
  readonly #counts = new Map<number, number>();
  /** Tokens of the prompt and generated ones. */
  readonly #seen: Set<number>;

  constructor(parameters: PenaltyParameters, prompt: readonly number[]) {
    this.#parameters = parameters;
    this.#countsGenerated = parameters.frequencyPenalty !== 0 || parameters.presencePenalty !== 0;
    this.#seen = new Set(parameters.repetitionPenalty === 1 ? [] : prompt);
  }

  /** Whether `apply` can change anything. */
  get active(): boolean {
    const { logitBias, repetitionPenalty } = this.#parameters;
    return logitBias.length > 0 || repetitionPenalty !== 1 || this.#countsGenerated;
  }

  /** Notes a generated token. */
  accept(token: number): void {
    if (this.#countsGenerated) this.#counts.set(token, (this.#counts.get(token) ?? 0) + 1);
    if (this.#parameters.repetitionPenalty !== 1) this.#seen.add(token);
  }

  /**
   * Changes logits in place: bias first, then the repetition penalty (positive logits are divided
   * by it, others multiplied), then OpenAI's formula
   * `logit - count * frequencyPenalty - (count > 0) * presencePenalty`.
   */
  apply(logits: Float32Array): void {
    const { logitBias, repetitionPenalty, frequencyPenalty, presencePenalty } = this.#parameters;
    for (const [token, bias] of logitBias) {
      change(logits, token, (logit) => logit + bias);
    }
    for (const token of this.#seen) {
      change(logits, token, (logit) =>
        logit > 0 ? logit / repetitionPenalty : logit * repetitionPenalty,
      );
    }
    for (const [token, count] of this.#counts) {
      change(logits, token, (logit) => logit - count * frequencyPenalty - presencePenalty);
    }
  }
}

function change(logits: Float32Array, token: number, rule: (logit: number) => number): void {
  const logit = logits[token];
  if (logit !== undefined) logits[token] = rule(logit);
}
