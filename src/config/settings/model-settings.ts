/** The model and the engine that runs it. */
import { z } from "zod";
import type { Insertion } from "../../completion/insertion.ts";
import {
  choiceSetting,
  integerSetting,
  listSetting,
  type Setting,
  secondsSetting,
  sizeSetting,
  textSetting,
} from "../setting-kinds.ts";

const insertionTexts = ["auto", "fim", "rerank", "off"] as const;

/** `auto`, `fim`, `rerank`, `off`, or a template with `{prefix}` and `{suffix}`. */
export const insertionSchema: z.ZodType<Insertion> = z
  .string()
  .refine(
    (text) =>
      insertionTexts.some((name) => name === text) ||
      (text.includes("{prefix}") && text.includes("{suffix}")),
  )
  .transform((text): Insertion => {
    const kind = insertionTexts.find((name) => name === text);
    return kind === undefined ? { kind: "template", template: text } : { kind };
  });

export const insertionExpected = "auto, fim, rerank, off or a template with {prefix} and {suffix}";

export const modelSettings = {
  model: listSetting({
    placeholder: "FILE",
    help:
      "GGUF files to serve: FILE, NAME=FILE, or a folder for all files in it. The first is loaded at " +
      "the start, the others when they are first used. Without it the default model is fetched once " +
      "and served.",
    entry: /\S/,
    expected: "files, NAME=FILE or folders; flags repeat",
    defaultText: "SmolLM2-135M-Instruct",
    wholeFlags: true,
  }),
  context: integerSetting<number | undefined>({
    placeholder: "TOKENS",
    help: "Tokens of one sequence, prompt and completion together.",
    min: 16,
    max: 16_777_216,
    defaultValue: undefined,
    defaultText: "4096, or the model's own length if that is less; less where memory is short",
  }),
  slots: integerSetting<number | undefined>({
    placeholder: "N",
    help: "Sequences evaluated at once; more requests than that wait.",
    min: 1,
    max: 256,
    defaultValue: undefined,
    defaultText: "8, or fewer where memory is short",
  }),
  threads: integerSetting<number | undefined>({
    placeholder: "N",
    help:
      "Threads that the engine computes with. Without it their number follows what else runs on the " +
      "machine. A container's CPU limit counts as its cores.",
    min: 1,
    max: 1024,
    defaultValue: undefined,
    defaultText: "from 1 to the number of cores, whatever is fastest",
  }),
  watchdog: secondsSetting<number | undefined>({
    placeholder: "SECONDS",
    help:
      "Time without a sign of life from an engine at work, after which it counts as hung and is " +
      "started again; 0 for never. It is longer while the engine's steps take long.",
    min: 0,
    max: 86_400,
    defaultValue: undefined,
    defaultText: "60, and 1 more for each 50 MB of the model file",
  }),
  numerics: choiceSetting({
    choices: ["fast", "reproducible", "exact"],
    help:
      "reproducible: the same request gives the same bytes, whatever else runs. exact: generation " +
      "also equals scoring to the bit. fast: neither, for the most generated tokens a second.",
    defaultValue: "reproducible",
  }),
  kvType: choiceSetting({
    choices: ["f16", "q8_0"],
    help: "Number type of the key cache; q8_0 halves it and costs a little accuracy.",
    defaultValue: "f16",
  }),
  gpuLayers: integerSetting({
    placeholder: "N",
    help:
      "Layers that a GPU computes. It needs the npm package of a library for that GPU; its name is " +
      "said when it is missing.",
    min: 0,
    max: 10_000,
    defaultValue: 0,
  }),
  prefixCache: sizeSetting({
    placeholder: "SIZE",
    help: "What sequences that nobody uses may keep for later prompts that begin alike.",
    min: 0,
    max: 1024 ** 4,
    defaultValue: 1024 ** 3,
    defaultText: "1GB",
  }),
  memory: sizeSetting<number | undefined>({
    placeholder: "SIZE",
    help:
      "What all loaded models may take together, caches included. When another is asked for, the " +
      "one not used for longest is unloaded.",
    min: 1024 ** 2,
    max: 1024 ** 5,
    defaultValue: undefined,
    defaultText: "what is free at the start, less a reserve",
  }),
  insertion: {
    ...textSetting<string>({
      placeholder: "MODE",
      help:
        "How `suffix` is served: auto, fim (the model's fill-in-the-middle tokens), rerank (draw " +
        "middles and keep the one that fits best), off, or a template with {prefix} and {suffix}.",
      expected: insertionExpected,
      defaultValue: "auto",
    }),
    schema: insertionSchema,
    defaultValue: (): Insertion => ({ kind: "auto" }),
  } as Setting<Insertion>,
} as const;
