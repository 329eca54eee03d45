/** Names of models. */
import { z } from "zod";
import type { Insertion } from "../../completion/insertion.ts";
import { legacyAliases } from "../../models/catalog.ts";
import { fileSetting } from "../setting-kinds.ts";
import { insertionExpected, insertionSchema } from "./model-settings.ts";

export interface ModelSettings {
  readonly insertion?: Insertion | undefined;
}

const modelSettingsSchema: z.ZodType<Readonly<Record<string, ModelSettings>>> = z.record(
  z.string(),
  z.strictObject({ insertion: insertionSchema.optional() }),
);

export const nameSettings = {
  defaultModel: fileSetting<string | null | undefined>({
    help: "Model that answers when a request names none; null makes naming one a must.",
    schema: z.union([z.string().min(1), z.null()]),
    expected: "a model name or null",
    defaultValue: undefined,
    defaultText: "the model served",
  }),
  aliases: fileSetting<Readonly<Record<string, string>> | undefined>({
    help: "Further names, each with the model that it means. Replaces the default.",
    schema: z.record(z.string().min(1), z.string().min(1)),
    expected: "names, each with a model name",
    defaultValue: undefined,
    defaultText: `${legacyAliases.join(", ")}: the model served`,
  }),
  models: fileSetting({
    help: "Settings of single models by name; so far `insertion`, which wins over the general one.",
    schema: modelSettingsSchema,
    expected: `model names, each with insertion: ${insertionExpected}`,
    defaultValue: {},
    defaultText: "none",
  }),
} as const;
