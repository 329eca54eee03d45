/** `completionist models info`: what a model file says, what it will take, what can be promised. */
import type { LoadedConfiguration } from "../config/load.ts";
import type { Configuration } from "../config/settings.ts";
import { defaultContextLength, defaultSlots } from "../llama/engine-size.ts";
import type { GgufHeader } from "../llama/gguf-header.ts";
import { estimateMemory, type MemoryEstimate } from "../llama/memory-estimate.ts";
import { defaultModel } from "../models/default-model.ts";
import { splitEntry } from "../models/model-choices.ts";
import { type ModelFileFacts, readModelFacts, type SpecialToken } from "../models/model-facts.ts";
import { megabytes } from "../models/progress.ts";
import { modelFolder } from "../models/served-model.ts";
import { locateModel } from "../models/stored-models.ts";
import { labelledLines } from "./text-columns.ts";

export async function modelInfo(
  { configuration }: LoadedConfiguration,
  named: string | undefined,
  json: boolean,
): Promise<number> {
  const folder = modelFolder(configuration.cache);
  const path = await locateModel(named ?? firstFile(configuration) ?? defaultModel.id, folder);
  const { facts, header } = readModelFacts(path);
  const memory = memoryOf(header, facts, configuration);
  const print = json ? infoJson : infoText;
  process.stdout.write(print(facts, memory, configuration));
  return 0;
}

function firstFile({ model: [first] }: Configuration): string | undefined {
  return first === undefined ? undefined : splitEntry(first).path;
}

/** Of a server that has memory enough. */
interface Memory {
  readonly estimate: MemoryEstimate;
  readonly contextLength: number;
  readonly slots: number;
}

function memoryOf(
  header: GgufHeader,
  { trainedContext }: ModelFileFacts,
  { context, slots = defaultSlots, numerics, kvType }: Configuration,
): Memory {
  const fallback = Math.min(defaultContextLength, trainedContext ?? defaultContextLength);
  const contextLength = context ?? fallback;
  const estimate = estimateMemory(header, { contextLength, slots, numerics, kvType });
  return { estimate, contextLength, slots };
}

function infoText(facts: ModelFileFacts, memory: Memory, { numerics }: Configuration): string {
  return labelledLines([
    ["file", facts.paths[0]],
    ["", facts.paths.length > 1 ? `and ${facts.paths.length - 1} more parts` : undefined],
    ["name", facts.name],
    ["architecture", facts.architecture],
    ["parameters", `${count(facts.parameters)}${facts.layers ? ` in ${facts.layers} layers` : ""}`],
    ["weights", `${facts.type}, ${megabytes(facts.bytes)}`],
    ...facts.weights.map(({ type, tensors, bytes }): readonly [string, string] => [
      "",
      `${type}: ${megabytes(bytes)} in ${tensors} tensor${tensors === 1 ? "" : "s"}`,
    ]),
    ["trained context", facts.trainedContext?.toString()],
    ["vocabulary", facts.vocabulary?.toString()],
    ["special tokens", tokensText(facts.specialTokens)],
    ["", bosText(facts.addsBos)],
    ["insertion", facts.infill ? tokensText(facts.infill) : "no tokens for it; by reranking"],
    ["chat template", facts.chatTemplate ? "yes" : "no"],
    ["attention", attentionText(facts)],
    ["memory", memoryText(memory)],
    ["numerics", promiseText(facts, numerics)],
  ]).join("");
}

function count(parameters: number): string {
  if (parameters >= 1e9) return `${(parameters / 1e9).toFixed(2)} billion`;
  if (parameters >= 1e6) return `${(parameters / 1e6).toFixed(1)} million`;
  return String(parameters);
}

function tokensText(tokens: ReadonlyMap<string, SpecialToken>): string {
  if (tokens.size === 0) return "none named";
  return [...tokens]
    .map(([name, { id, text }]) => `${name} ${id} ${JSON.stringify(text)}`)
    .join(", ");
}

function bosText(addsBos: boolean | undefined): string | undefined {
  if (addsBos === undefined) return undefined;
  return addsBos ? "BOS is put before every prompt" : "no BOS is put before a prompt";
}

function attentionText({ recurrent, slidingWindow }: ModelFileFacts): string {
  if (recurrent) return "recurrent state";
  return slidingWindow ? `sliding window of ${slidingWindow} tokens in some layers` : "full";
}

function memoryText({ estimate, contextLength, slots }: Memory): string {
  const { weights, cache, compute, overhead, total } = estimate;
  return (
    `about ${megabytes(total)} for ${slots} slot${slots === 1 ? "" : "s"} of ${contextLength} tokens ` +
    `(weights ${megabytes(weights)}, cache ${megabytes(cache)}, ` +
    `work ${megabytes(compute)}, process ${megabytes(overhead)})`
  );
}

type Promises = { readonly reproducible: boolean; readonly exact: boolean; readonly why?: string };

/** What the modes keep with this model (docs/reference/numerics.md). */
function promisesOf({ recurrent, floatWeights }: ModelFileFacts): Promises {
  if (!recurrent) return { reproducible: true, exact: true };
  const why = "recurrent state cannot drop a second row";
  return { reproducible: !floatWeights, exact: false, why };
}

function promiseText(facts: ModelFileFacts, numerics: Configuration["numerics"]): string {
  const { reproducible, exact, why } = promisesOf(facts);
  const word = (held: boolean) => (held ? "holds" : "does not hold");
  const reason = why === undefined ? "" : ` (${why})`;
  return `${numerics} is set; reproducible ${word(reproducible)}, exact ${word(exact)}${reason}`;
}

function infoJson(facts: ModelFileFacts, memory: Memory, { numerics }: Configuration): string {
  const { estimate, contextLength, slots } = memory;
  const answer = {
    files: facts.paths,
    name: facts.name ?? null,
    architecture: facts.architecture,
    parameters: facts.parameters,
    layers: facts.layers ?? null,
    type: facts.type,
    bytes: facts.bytes,
    weights: facts.weights,
    trained_context: facts.trainedContext ?? null,
    vocabulary: facts.vocabulary ?? null,
    special_tokens: Object.fromEntries(facts.specialTokens),
    adds_bos: facts.addsBos ?? null,
    infill_tokens: facts.infill === undefined ? null : Object.fromEntries(facts.infill),
    chat_template: facts.chatTemplate,
    sliding_window: facts.slidingWindow ?? null,
    recurrent: facts.recurrent,
    memory: { ...estimate, context: contextLength, slots },
    numerics: { set: numerics, ...promisesOf(facts) },
  };
  return `${JSON.stringify(answer, undefined, 2)}\n`;
}
