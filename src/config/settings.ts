/**
 * The one table of settings: flags, COMPLETIONIST_* variables, keys of completionist.yaml, help
 * texts and `docs/reference/configuration.md` all come from it.
 */
import { availableParallelism, homedir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import type { Insertion } from "../completion/insertion.ts";
import { legacyAliases } from "../models/catalog.ts";
import { type LogFormat, type LogLevel, logFormats, logLevels } from "../observe/log.ts";
import {
  choiceSetting,
  fileSetting,
  integerSetting,
  listSetting,
  type Setting,
  secondsSetting,
  sizeSetting,
  switchSetting,
  textSetting,
} from "./setting-kinds.ts";

const insertionTexts = ["auto", "fim", "rerank", "off"] as const;

/** `auto`, `fim`, `rerank`, `off`, or a template with `{prefix}` and `{suffix}`. */
const insertionSchema: z.ZodType<Insertion> = z
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

const insertionExpected = "auto, fim, rerank, off or a template with {prefix} and {suffix}";

export interface ModelSettings {
  readonly insertion?: Insertion | undefined;
}

const modelSettingsSchema: z.ZodType<Readonly<Record<string, ModelSettings>>> = z.record(
  z.string(),
  z.strictObject({ insertion: insertionSchema.optional() }),
);

/** Settings of one section of help texts and of the reference page. */
export interface SettingSection {
  readonly title: string;
  readonly names: readonly SettingName[];
}

export const settings = {
  model: textSetting<string | undefined>({
    placeholder: "FILE",
    help: "A GGUF model file to serve. Without it the default model is fetched once and served.",
    defaultValue: undefined,
    defaultText: "SmolLM2-135M-Instruct",
  }),
  context: integerSetting<number | undefined>({
    placeholder: "TOKENS",
    help: "Tokens of one sequence, prompt and completion together.",
    min: 16,
    max: 16_777_216,
    defaultValue: undefined,
    defaultText: "4096, or the model's own length if that is less",
  }),
  slots: integerSetting({
    placeholder: "N",
    help: "Sequences evaluated at once; more requests than that wait.",
    min: 1,
    max: 256,
    defaultValue: 8,
  }),
  threads: integerSetting({
    placeholder: "N",
    help: "Threads that the engine computes with. A container's CPU limit counts as its cores.",
    min: 1,
    max: 1024,
    defaultValue: () => Math.max(1, availableParallelism() - 1),
    defaultText: "cores - 1, at least 1",
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
  prefixCache: sizeSetting({
    placeholder: "SIZE",
    help: "What sequences that nobody uses may keep for later prompts that begin alike.",
    min: 0,
    max: 1024 ** 4,
    defaultValue: 1024 ** 3,
    defaultText: "1GB",
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
  host: textSetting<string>({
    placeholder: "ADDRESS",
    help: "Address to listen on. Beyond loopback a key is needed, or --no-auth.",
    pattern: /^[^\s/]+$/,
    expected: "a host name or an IP address",
    defaultValue: "127.0.0.1",
  }),
  port: integerSetting({
    placeholder: "PORT",
    help: "Port to listen on; 0 takes any free one.",
    min: 0,
    max: 65_535,
    defaultValue: 8080,
  }),
  basePath: {
    ...textSetting<string>({
      placeholder: "PATH",
      help: "Path in front of every route, for a reverse proxy: with /llm the API is /llm/v1.",
      expected: "a path such as /llm",
      defaultValue: "",
      defaultText: "none",
    }),
    // A slash at the end means the same path.
    schema: z
      .string()
      .regex(/^(\/[\w.~-]+)*\/?$/)
      .transform((path) => path.replace(/\/$/, "")),
  },
  cors: listSetting({
    placeholder: "ORIGIN",
    help: "Web origins whose pages may call this server; * for all. May be repeated.",
    entry: /^(\*|https?:\/\/[^/\s]+)$/,
    expected: "origins such as https://example.org, or *",
    defaultText: "every origin when keys are in use, else loopback origins",
  }),
  allowedHost: listSetting({
    placeholder: "NAME",
    help: "Host names, besides loopback, that a server without keys answers to. May be repeated.",
    entry: /^[^\s/]+$/,
    expected: "host names such as box.local",
    defaultText: "loopback names",
  }),
  bodyLimit: sizeSetting({
    placeholder: "SIZE",
    help: "Largest request body.",
    min: 1024,
    max: 1024 ** 3,
    defaultValue: 16 * 1024 ** 2,
    defaultText: "16MB",
  }),
  drain: secondsSetting({
    placeholder: "SECONDS",
    help: "How long running requests may go on after the server was told to stop.",
    min: 0,
    max: 3600,
    defaultValue: 10,
  }),
  metrics: choiceSetting({
    choices: ["on", "open", "off"],
    help:
      "Whether there is `GET /metrics`, for Prometheus. on: yes, with a key where keys are in use. " +
      "open: yes, without one.",
    defaultValue: "on",
  }),
  apiKey: listSetting({
    placeholder: "KEY",
    help:
      "Keys that clients must send as `Authorization: Bearer KEY`. May be repeated. Other users " +
      "of the machine can read flags: prefer the variable or the file.",
    entry: /^[\x21-\x2b\x2d-\x7e]+$/,
    expected: "keys of printable characters without spaces and commas",
    defaultText: "none: no key is asked for",
  }),
  noAuth: switchSetting(
    "Serve without keys even beyond loopback: whoever reaches the port can use the model.",
  ),
  limits: choiceSetting({
    choices: ["openai", "extended"],
    help: "openai: logprobs up to 5, stop up to 4. extended: logprobs up to 20, stop up to 64.",
    defaultValue: "openai",
  }),
  strict: switchSetting("Refuse requests with unknown fields instead of ignoring these."),
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
  cache: textSetting<string>({
    placeholder: "FOLDER",
    help: "Folder for what can be fetched again: model files are in its subfolder `models`.",
    defaultValue: () => join(homedir(), ".cache", "completionist"),
    defaultText: "~/.cache/completionist",
  }),
  data: textSetting<string>({
    placeholder: "FOLDER",
    help: "Folder for what must be kept, the database above all.",
    defaultValue: () => join(homedir(), ".local", "share", "completionist"),
    defaultText: "~/.local/share/completionist",
  }),
  logLevel: choiceSetting<LogLevel>({
    choices: logLevels,
    help: "How much is logged, on standard error.",
    defaultValue: "info",
  }),
  logFormat: choiceSetting<LogFormat>({
    choices: logFormats,
    help: "auto: text on a terminal, else JSON, one object a line.",
    defaultValue: "auto",
  }),
} as const;

export type SettingName = keyof typeof settings;

export type Configuration = {
  readonly [Name in SettingName]: (typeof settings)[Name] extends Setting<infer Value>
    ? Value
    : never;
};

export const settingNames = Object.keys(settings) as readonly SettingName[];

/** `logLevel` as it stands in flags and in the configuration file: `log-level`. */
export function keyOf(name: SettingName): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** `logLevel` as an environment variable: `COMPLETIONIST_LOG_LEVEL`. */
export function variableOf(name: SettingName): string {
  return `COMPLETIONIST_${keyOf(name).replaceAll("-", "_").toUpperCase()}`;
}

export const sections: readonly SettingSection[] = [
  {
    title: "Model and engine",
    names: [
      "model",
      "context",
      "slots",
      "threads",
      "numerics",
      "kvType",
      "prefixCache",
      "insertion",
    ],
  },
  {
    title: "Server",
    names: ["host", "port", "basePath", "cors", "allowedHost", "bodyLimit", "drain", "metrics"],
  },
  {
    title: "Access and requests",
    names: ["apiKey", "noAuth", "limits", "strict"],
  },
  { title: "Names of models", names: ["defaultModel", "aliases", "models"] },
  { title: "Folders and log", names: ["cache", "data", "logLevel", "logFormat"] },
];
