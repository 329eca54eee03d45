/** Runs one candidate against a model that says what a test tells it to say. */

import { plainSampling } from "../../sampling/testing/plain-sampling.ts";
import { Candidate } from "../candidate.ts";
import type {
  CandidateFinished,
  EngineEvent,
  Job,
  SamplingParameters,
  StopConditions,
  TextReleased,
  Vocabulary,
} from "../engine.ts";
import { testVocabulary } from "./vocabulary.ts";

export const sampling: SamplingParameters = { ...plainSampling, temperature: 0, seed: 1 };

const stop: StopConditions = {
  strings: [],
  tokens: [],
  includeStringInText: false,
  ignoreEos: false,
  minTokens: 0,
};

export const job: Job = {
  prompt: [0],
  candidates: 1,
  maxTokens: 100,
  sampling,
  stop,
  topLogprobs: undefined,
  tokenLogprobs: false,
  scoreFrom: undefined,
  skipSpecialTokens: true,
};

export const stopping = (conditions: Partial<StopConditions>, others: Partial<Job> = {}): Job => ({
  ...job,
  ...others,
  stop: { ...stop, ...conditions },
});

export const vocabulary = testVocabulary({
  tokens: ["ab", "X\n", "foo"],
  special: ["<s>", "</s>", "<|end|>", "<|mark|>"],
  endOfGeneration: ["<|end|>"],
});
export const eos = vocabulary.id("</s>");
export const mark = vocabulary.id("<|mark|>");

/** A row in which one token is much likelier than the runner-up, and that than the rest. */
export function row(size: number, token: number, runnerUp?: number): Float32Array {
  const logits = new Float32Array(size);
  if (runnerUp !== undefined) logits[runnerUp] = 10;
  logits[token] = 20;
  return logits;
}

export interface Outcome {
  readonly candidate: Candidate;
  readonly events: readonly EngineEvent[];
  readonly groups: readonly TextReleased[];
  readonly text: string;
  readonly tokens: readonly number[];
  readonly finished: CandidateFinished;
  /** What `accept` returned. */
  readonly next: readonly (number | undefined)[];
}

/** Lets a model say these tokens; when they run out, the context is full. */
export function run(
  theJob: Job,
  said: readonly number[],
  { words = vocabulary as Vocabulary, index = 0, runnerUp = undefined as number | undefined } = {},
): Outcome {
  const events: EngineEvent[] = [];
  const emit = (event: EngineEvent) => void events.push(event);
  const candidate = new Candidate({ job: theJob, index, vocabulary: words });
  const next: (number | undefined)[] = [];
  if (candidate.start(emit)) {
    for (const token of said) {
      next.push(candidate.accept(row(words.size, token, runnerUp), emit));
      if (next.at(-1) === undefined) break;
    }
    candidate.contextExhausted(emit);
  }
  const groups = events.filter((event) => event.kind === "text");
  const finishedEvents = events.filter((event) => event.kind === "finished");
  const [finished] = finishedEvents;
  if (finished === undefined || finishedEvents.length > 1 || events.at(-1) !== finished) {
    throw new Error("A candidate finishes once, after all its text.");
  }
  return {
    candidate,
    events,
    groups,
    text: groups.map(({ text }) => text).join(""),
    tokens: groups.flatMap((group) => group.tokens.map(({ token }) => token)),
    finished,
    next,
  };
}

export const say = (text: string) => vocabulary.encode(text, true);
