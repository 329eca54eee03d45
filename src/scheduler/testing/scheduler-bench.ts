/** A scheduler over the fake backend, and what jobs must give, computed without a scheduler. */
import { Candidate } from "../../engine/candidate.ts";
import type { EngineEvent, Job } from "../../engine/engine.ts";
import { testVocabulary } from "../../engine/testing/vocabulary.ts";
import { scoreToken } from "../../sampling/score.ts";
import { plainSampling } from "../../sampling/testing/plain-sampling.ts";
import { Scheduler } from "../scheduler.ts";
import { FakeBackend, type FakeBackendOptions, type FakeCell, fakeLogits } from "./fake-backend.ts";

export const vocabulary = testVocabulary();
export const vocabularySize = vocabulary.size;

export function jobWith(overrides: Partial<Job> = {}): Job {
  return {
    prompt: [1, 2, 3],
    candidates: 1,
    maxTokens: 5,
    sampling: plainSampling,
    stop: { strings: [], tokens: [], includeStringInText: false, ignoreEos: false, minTokens: 0 },
    topLogprobs: 2,
    tokenLogprobs: true,
    scoreFrom: undefined,
    skipSpecialTokens: true,
    ...overrides,
  };
}

export function greedy(): Job["sampling"] {
  return { ...jobWith().sampling, temperature: 0 };
}

export interface BenchOptions extends FakeBackendOptions {
  readonly padRows?: boolean;
  readonly reuseGenerated?: boolean;
  readonly idleBytesMax?: number;
  readonly queuedJobsMax?: number;
}

export const bytesPerToken = 1000;

export interface Bench {
  readonly scheduler: Scheduler;
  readonly backend: FakeBackend;
  readonly events: Map<number, EngineEvent[]>;
  readonly ended: number[];
  readonly failed: string[];
  /** Steps until nothing is left to do. */
  run(): void;
}

export function bench(options: BenchOptions = {}): Bench {
  const { padRows = false, cutsAnywhere = true } = options;
  const backend = new FakeBackend({ vocabularySize, ...options });
  const events = new Map<number, EngineEvent[]>();
  const ended: number[] = [];
  const failed: string[] = [];
  let clockMs = 0;
  const scheduler = new Scheduler({
    backend,
    vocabulary,
    padRows,
    rules: { rowsMin: padRows ? 1 : 2, cutsAnywhere },
    reuseGenerated: options.reuseGenerated ?? padRows,
    bytesPerToken,
    idleBytesMax: options.idleBytesMax ?? 1e9,
    queuedJobsMax: options.queuedJobsMax,
    nowMs: () => (clockMs += 1),
    onEvent: (id, event) => {
      events.set(id, [...(events.get(id) ?? []), event]);
    },
    onEnded: (id) => ended.push(id),
    onFailed: (id, reason) => failed.push(`${id}: ${reason}`),
  });
  const run = () => {
    for (let steps = 0; !scheduler.idle; steps++) {
      if (steps > 100_000) throw new Error("the scheduler does not come to an end");
      scheduler.step();
    }
  };
  return { scheduler, backend, events, ended, failed, run };
}

/**
 * The events of a job that runs all alone: prompt rows together, generated rows one by one (so
 * computed alone, unless rows are padded or do not differ).
 */
export function expectedEvents(job: Job, loneRowsDiffer: boolean): EngineEvent[] {
  const loneGenerated = loneRowsDiffer;
  const lonePrompt = loneRowsDiffer && job.prompt.length === 1;
  const prompt: FakeCell[] = job.prompt.map((token) => ({ token, lone: lonePrompt }));
  const scores = [];
  for (let index = job.scoreFrom ?? job.prompt.length; index < job.prompt.length; index++) {
    const logits = fakeLogits(prompt.slice(0, index), vocabularySize);
    scores.push(scoreToken(logits, job.prompt[index] as number, job.topLogprobs ?? 0));
  }
  const events: EngineEvent[] = [{ kind: "admitted" }, { kind: "prompt", cachedTokens: 0, scores }];
  for (let index = 0; index < job.candidates; index++) {
    const candidate = new Candidate({ job, index, vocabulary });
    const context = [...prompt];
    const emit = (event: EngineEvent) => events.push(event);
    for (let going = candidate.start(emit); going; ) {
      const token = candidate.accept(fakeLogits(context, vocabularySize), emit);
      if (token === undefined) going = false;
      else context.push({ token, lone: loneGenerated });
    }
  }
  return events;
}

/** Candidates interleave; what counts is the order within each. Hits of the cache are left out. */
export function comparable(events: readonly EngineEvent[]): EngineEvent[] {
  const number = (event: EngineEvent) => ("candidate" in event ? event.candidate : -1);
  return events
    .map((event) => (event.kind === "prompt" ? { ...event, cachedTokens: 0 } : event))
    .toSorted((left, right) => number(left) - number(right));
}

export function cachedTokens(events: readonly EngineEvent[] | undefined): number | undefined {
  const prompt = events?.find((event) => event.kind === "prompt");
  return prompt?.kind === "prompt" ? prompt.cachedTokens : undefined;
}
