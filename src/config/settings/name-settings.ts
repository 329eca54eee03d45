/** Names of models. */
import { z } from "zod";
import type { Insertion } from "../../completion/insertion.ts";
import { legacyAliases } from "../../models/catalog.ts";
import { fileSetting, type Setting } from "../setting-kinds.ts";
import { insertionSchema, modelSettings } from "./model-settings.ts";

/** What a model has of its own; the general setting holds for all that is absent. */
export interface ModelSettings {
  readonly file?: string | undefined;
  readonly preload?: boolean | undefined;
  readonly context?: number | undefined;
  readonly slots?: number | undefined;
  readonly threads?: number | undefined;
  readonly numerics?: "fast" | "reproducible" | "exact" | undefined;
  readonly kvType?: Configured<typeof modelSettings.kvType> | undefined;
  readonly insertion?: Insertion | undefined;
}

type Configured<Kind> = Kind extends Setting<infer Value> ? Value : never;

const modelSettingsSchema = z.record(
  z.string().min(1),
  z
    .strictObject({
      file: z.string().min(1).optional(),
      preload: z.boolean().optional(),
      context: modelSettings.context.schema.optional(),
      slots: modelSettings.slots.schema.optional(),
      threads: modelSettings.threads.schema.optional(),
      numerics: modelSettings.numerics.schema.optional(),
      "kv-type": modelSettings.kvType.schema.optional(),
      insertion: insertionSchema.optional(),
    })
    .transform(({ "kv-type": kvType, ...rest }) => ({ ...rest, kvType })),
) as z.ZodType<Readonly<Record<string, ModelSettings>>>;

export const nameSettings = {
  defaultModel: fileSetting<string | null | undefined>({
    help: "Model that answers when a request names none; null makes naming one a must.",
    schema: z.union([z.string().min(1), z.null()]),
    expected: "a model name or null",
    defaultValue: undefined,
    defaultText: "the first model served",
  }),
  aliases: fileSetting<Readonly<Record<string, string>> | undefined>({
    help: "Further names, each with the model that it means. Replaces the default.",
    schema: z.record(z.string().min(1), z.string().min(1)),
    expected: "names, each with a model name",
    defaultValue: undefined,
    defaultText: `${legacyAliases.join(", ")}: the default model`,
  }),
  models: fileSetting({
    help:
      "Single models by name. `file` adds a model; `preload: true` loads it at the start. `context`, " +
      "`slots`, `threads`, `numerics`, `kv-type` and `insertion` win over the general settings.",
    schema: modelSettingsSchema,
    expected:
      "model names, each with file, preload, context, slots, threads, numerics, kv-type or insertion",
    defaultValue: {},
    defaultText: "none",
  }),
} as const;
