/**
 * One candidate of a job: it samples tokens from the rows of raw logits that it is given, turns
 * them into text, and knows when it has ended. The scheduler evaluates; nothing here waits.
 */
import { Sampler } from "../sampling/sampler.ts";
import { scoreToken } from "../sampling/score.ts";
import { HeldText, type TextRelease } from "../text/held-text.ts";
import type { EngineEvent, GeneratedToken, Job, Score, Vocabulary } from "./engine.ts";
import { type StopRules, stopRules } from "./stop-rules.ts";

export interface CandidateOptions {
  readonly job: Job;
  /** The candidate's number within the job. */
  readonly index: number;
  readonly vocabulary: Vocabulary;
}

export type Emit = (event: EngineEvent) => void;

type ScoredToken = Pick<GeneratedToken, "token" | "score">;

const noBytes = new Uint8Array(0);

export class Candidate {
  readonly index: number;
  readonly #job: Job;
  readonly #vocabulary: Vocabulary;
  readonly #rules: StopRules;
  readonly #sampler: Sampler;
  readonly #text: HeldText;
  readonly #generated: number[] = [];
  /** Tokens whose text is held back, oldest first. */
  readonly #held: ScoredToken[] = [];
  #releasedTokens = 0;
  #logprobSum = 0;
  #finished = false;

  constructor({ job, index, vocabulary }: CandidateOptions) {
    this.index = index;
    this.#job = job;
    this.#vocabulary = vocabulary;
    this.#rules = stopRules(job.stop, vocabulary);
    this.#sampler = new Sampler(job.sampling, job.prompt, index);
    this.#text = new HeldText({
      patterns: this.#rules.patterns,
      includeMatch: job.stop.includeStringInText,
      searchAfterTokens: job.stop.minTokens,
    });
  }

  /** Tokens accepted so far, without one that ended the candidate. */
  get generated(): readonly number[] {
    return this.#generated;
  }

  /** Whether `finished` was emitted. */
  get finished(): boolean {
    return this.#finished;
  }

  /** False when there is nothing to generate: the candidate then finished with `length`. */
  start(emit: Emit): boolean {
    if (this.#job.maxTokens > 0) return true;
    this.#finish("length", undefined, emit);
    return false;
  }

  /**
   * Samples the next token from a row of raw logits, which stays as it is. Emits the text that may
   * be shown. Returns the token to evaluate next, or undefined when the candidate finished.
   */
  accept(logits: Float32Array, emit: Emit): number | undefined {
    if (this.#finished) throw new Error(`Candidate ${this.index} has finished.`);
    const { endTokens, endTokenList } = this.#rules;
    const { maxTokens, stop } = this.#job;
    const mayEnd = this.#generated.length >= stop.minTokens;
    const token = this.#sampler.sample(logits, mayEnd ? [] : endTokenList);
    const scored = { token, score: this.#score(logits, token) };
    if (mayEnd && endTokens.has(token)) {
      this.#end("stop", scored, emit);
      return undefined;
    }
    this.#generated.push(token);
    this.#held.push(scored);
    const release = this.#text.push(this.#textBytes(token));
    this.#emitRelease(release, emit);
    if (release.stopped) {
      this.#finish("stop", undefined, emit);
      return undefined;
    }
    if (this.#generated.length >= maxTokens) {
      this.#end("length", undefined, emit);
      return undefined;
    }
    return token;
  }

  /** The sequence is full: everything held is released and the candidate finishes with `length`. */
  contextExhausted(emit: Emit): void {
    if (!this.#finished) this.#end("length", undefined, emit);
  }

  /** Releases what is held. A stop string that was waiting for a longer one still counts. */
  #end(reason: "stop" | "length", end: ScoredToken | undefined, emit: Emit): void {
    const release = this.#text.end();
    this.#emitRelease(release, emit);
    if (release.stopped) this.#finish("stop", undefined, emit);
    else this.#finish(reason, end, emit);
  }

  #finish(reason: "stop" | "length", end: ScoredToken | undefined, emit: Emit): void {
    this.#finished = true;
    const ranked = this.#releasedTokens + (end === undefined ? 0 : 1);
    const logprobSum = this.#logprobSum + (end?.score?.logprob ?? 0);
    const hasMean = this.#job.tokenLogprobs && ranked > 0;
    emit({
      kind: "finished",
      candidate: this.index,
      reason,
      end: end && { ...end, offset: this.#text.releasedCodePoints },
      tokenCount: this.#releasedTokens,
      meanLogprob: hasMean ? logprobSum / ranked : undefined,
    });
  }

  #emitRelease({ groups }: TextRelease, emit: Emit): void {
    for (const { text, offsets } of groups) {
      const scored = this.#held.splice(0, offsets.length);
      const tokens = scored.map((token, place) => ({ ...token, offset: offsets[place] ?? 0 }));
      this.#releasedTokens += tokens.length;
      for (const { score } of tokens) this.#logprobSum += score?.logprob ?? 0;
      emit({ kind: "text", candidate: this.index, text, tokens });
    }
  }

  #score(logits: Float32Array, token: number): Score | undefined {
    if (!this.#job.tokenLogprobs) return undefined;
    return scoreToken(logits, token, this.#job.topLogprobs ?? 0, this.#sampler.rawSum);
  }

  #textBytes(token: number): Uint8Array {
    const isHidden = this.#job.skipSpecialTokens && this.#vocabulary.isSpecial(token);
    return isHidden ? noBytes : this.#vocabulary.bytes(token);
  }
}
