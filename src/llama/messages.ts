/** What the server and the engine process say to each other, by structured clone. */
import type { ErrorName, RetryAdvice } from "../contract/errors.ts";
import type { EngineEvent, Job } from "../engine/engine.ts";
import type { VocabularyData } from "../engine/vocabulary-table.ts";
import type { EngineStats } from "../observe/engine-stats.ts";
import type { CacheType } from "./llama-backend.ts";
import type { NumericsMode } from "./numerics.ts";

/** What the engine process is started with. */
export interface LoadOptions {
  readonly modelPath: string;
  /** Tokens of one sequence; undefined: 4,096, or what the model was trained for if less. */
  readonly contextLength: number | undefined;
  readonly slots: number;
  /** Undefined: as many as prove best, changing with what else runs. */
  readonly threads: number | undefined;
  /** Layers that a GPU computes; 0 or undefined: none, and no GPU is touched. */
  readonly gpuLayers?: number | undefined;
  /** Where what was measured is kept for the next start; undefined: nowhere. */
  readonly cacheFolder?: string | undefined;
  readonly numerics: NumericsMode;
  /** Number format of the cached keys; of the values too where `fast` allows it. */
  readonly kvType: CacheType;
  /** What sequences that nobody uses may hold for later prompts. */
  readonly prefixCacheBytesMax: number;
  /** Jobs that may wait for a slot; undefined: 8,192. */
  readonly queuedJobsMax?: number | undefined;
}

export interface LoadedModel {
  readonly contextLength: number;
  readonly slots: number;
  readonly libraryVersion: string;
  /** What its first steps took, the widest among them. */
  readonly probedMs: number;
  readonly vocabulary: VocabularyData;
}

export type ToEngine =
  | { readonly kind: "load"; readonly options: LoadOptions }
  | {
      readonly kind: "tokenize";
      readonly request: number;
      readonly text: string;
      readonly addSpecial: boolean;
      readonly parseSpecial: boolean;
    }
  | { readonly kind: "run"; readonly id: number; readonly job: Job }
  | { readonly kind: "abort"; readonly id: number }
  /** Asks for an `alive`, which comes between two steps. */
  | { readonly kind: "ask" };

export type FromEngine =
  | { readonly kind: "loaded"; readonly model: LoadedModel }
  /** The process ends after it. `message` is one sentence for the person who started the server. */
  | { readonly kind: "loadFailed"; readonly message: string }
  | { readonly kind: "tokens"; readonly request: number; readonly tokens: readonly number[] }
  | { readonly kind: "tokenizeFailed"; readonly request: number; readonly message: string }
  | { readonly kind: "events"; readonly events: readonly JobEvent[] }
  | { readonly kind: "stats"; readonly stats: EngineStats }
  | { readonly kind: "alive" };

/** A job's event, its regular end, or its refusal. */
export type JobEvent =
  | { readonly id: number; readonly event: EngineEvent }
  | { readonly id: number; readonly ended: true }
  | { readonly id: number; readonly refused: ErrorName; readonly retry: RetryAdvice };
