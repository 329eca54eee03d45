/** Loads a model and opens the context that the engine process steps. */
import type { TokenizeOptions } from "../engine/engine.ts";
import type { VocabularyData } from "../engine/vocabulary-table.ts";
import type { ThreadedBackend } from "../scheduler/governed-backend.ts";
import type { MatchRules } from "../scheduler/prefix-match.ts";
import { defaultContextLength } from "./engine-size.ts";
import { readGgufHeader } from "./gguf-header.ts";
import { openLibrary } from "./library.ts";
import { LlamaBackend } from "./llama-backend.ts";
import { cacheBytesPerToken } from "./memory-estimate.ts";
import type { LoadOptions } from "./messages.ts";
import { Model } from "./model.ts";
import { planNumerics, restrictNumerics } from "./numerics.ts";
import { chooseAccelerator } from "./platform-package.ts";
import { tokenize, tokenizeApart } from "./tokenizer.ts";
import { readVocabulary } from "./vocabulary.ts";

export interface ServedContext {
  readonly backend: ThreadedBackend;
  readonly vocabulary: VocabularyData;
  readonly libraryVersion: string;
  /** Whether lone rows need a neighbour (scheduler/padding.ts). */
  readonly padRows: boolean;
  /** Whether generated tokens may begin a later prompt. */
  readonly reuseGenerated: boolean;
  readonly rules: MatchRules;
  readonly bytesPerToken: number;
  tokenize(text: string, options: TokenizeOptions): Promise<readonly number[]>;
}

/** Longer texts are split into tokens beside the steps of the model, not between them. */
const quickTextUnits = 8192;

export interface ContextOptions extends LoadOptions {
  /** To begin with. */
  readonly threads: number;
}

/** Throws an Error of one clear sentence. */
export function openContext(options: ContextOptions): ServedContext {
  const { modelPath, slots, threads, kvType } = options;
  const gpuLayers = options.gpuLayers ?? 0;
  const library = openLibrary({ accelerator: chooseAccelerator(gpuLayers) });
  const header = readGgufHeader(modelPath);
  const planned = planNumerics(options.numerics, header.matrixTypes);
  const model = Model.load(library, {
    path: modelPath,
    gpuLayers,
    repackWeights: planned.repackWeights,
  });
  const numerics = restrictNumerics(planned, model.facts);
  const trained = model.facts.trainedContextLength;
  const contextLength = options.contextLength ?? Math.min(defaultContextLength, trained);
  const valueType = numerics.mode === "fast" ? { valueType: kvType } : {};
  const backend = new LlamaBackend({
    model,
    contextLength,
    slots,
    threads,
    numerics,
    keyType: kvType,
    ...valueType,
  });
  return {
    backend,
    vocabulary: readVocabulary(model),
    libraryVersion: library.version,
    padRows: numerics.pairDecodeRows,
    reuseGenerated: numerics.reuseGenerated,
    rules: {
      rowsMin: numerics.mode === "fast" || numerics.pairDecodeRows ? 1 : 2,
      cutsAnywhere: !model.facts.isRecurrent && !model.facts.isHybrid,
    },
    bytesPerToken: cacheBytesPerToken(header, options),
    tokenize: async (text, tokenizeOptions) =>
      text.length <= quickTextUnits
        ? tokenize(model, text, tokenizeOptions)
        : tokenizeApart(model, text, tokenizeOptions),
  };
}
