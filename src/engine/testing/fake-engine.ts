/**
 * An engine in memory for the tests of the rooms above: a function tells the logits after a
 * context, candidates run one step each in turn, and nothing is shared between jobs.
 */
import { scoreToken } from "../../sampling/score.ts";
import { Candidate } from "../candidate.ts";
import type { Engine, EngineDescription, EngineEvent, Job, Score } from "../engine.ts";
import type { TestVocabulary } from "./vocabulary.ts";

export interface FakeEngineOptions {
  readonly vocabulary: TestVocabulary;
  readonly contextLength?: number;
  /** Logits of the vocabulary after a context. */
  readonly logits: (context: readonly number[]) => Float32Array;
  /** Fails the job after this many events. */
  readonly failAfterEvents?: { readonly events: number; readonly error: unknown };
}

export class FakeEngine implements Engine {
  readonly #options: FakeEngineOptions;
  /** Jobs in the order in which they were run. */
  readonly jobs: Job[] = [];
  /** Jobs whose reader left or whose signal came before their end. */
  abandoned = 0;

  constructor(options: FakeEngineOptions) {
    this.#options = options;
  }

  describe(): EngineDescription {
    const { vocabulary, contextLength = 256 } = this.#options;
    return { artifact: "fake-model", fingerprint: "fp_fake", contextLength, slots: 4, vocabulary };
  }

  tokenize(text: string, options: { addSpecial: boolean; parseSpecial: boolean }) {
    const { vocabulary } = this.#options;
    const tokens = vocabulary.encode(text, options.parseSpecial);
    const bos = vocabulary.addsBos && options.addSpecial ? vocabulary.bos : undefined;
    return Promise.resolve(bos === undefined || tokens[0] === bos ? tokens : [bos, ...tokens]);
  }

  async *run(job: Job, signal: AbortSignal): AsyncGenerator<EngineEvent> {
    this.jobs.push(job);
    let ended = false;
    let count = 0;
    try {
      for (const event of this.#events(job)) {
        await Promise.resolve();
        signal.throwIfAborted();
        const { failAfterEvents } = this.#options;
        if (count++ === failAfterEvents?.events) throw failAfterEvents.error;
        yield event;
      }
      ended = true;
    } finally {
      if (!ended) this.abandoned += 1;
    }
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  *#events(job: Job): Generator<EngineEvent> {
    const { vocabulary, logits } = this.#options;
    yield { kind: "admitted" };
    yield { kind: "prompt", cachedTokens: 0, scores: this.#scores(job) };
    const events: EngineEvent[] = [];
    const emit = (event: EngineEvent) => events.push(event);
    let running = Array.from({ length: job.candidates }, (_, index) => ({
      candidate: new Candidate({ job, index, vocabulary }),
      context: [...job.prompt],
    })).filter(({ candidate }) => candidate.start(emit));
    for (;;) {
      yield* events.splice(0);
      if (running.length === 0) return;
      running = running.filter(({ candidate, context }) => {
        const next = candidate.accept(logits(context), emit);
        if (next !== undefined) context.push(next);
        return next !== undefined;
      });
    }
  }

  #scores(job: Job): Score[] {
    const scores: Score[] = [];
    for (let index = job.scoreFrom ?? job.prompt.length; index < job.prompt.length; index++) {
      const logits = this.#options.logits(job.prompt.slice(0, index));
      scores.push(scoreToken(logits, job.prompt[index] as number, job.topLogprobs ?? 0));
    }
    return scores;
  }
}

/**
 * Logits under which the model goes on with `text` after any prompt that ends at `promptLength`
 * tokens, then with the end token; other tokens are unlikely, each a little less than the last.
 */
export function scriptedLogits(
  vocabulary: TestVocabulary,
  promptLength: number,
  script: readonly number[],
): (context: readonly number[]) => Float32Array {
  return (context) => {
    const logits = Float32Array.from({ length: vocabulary.size }, (_, token) => -token / 100);
    const next = script[context.length - promptLength] ?? vocabulary.eos;
    if (next !== undefined) logits[next] = 10;
    return logits;
  };
}
