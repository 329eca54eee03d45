/** From settings to models: which there are, under which names, and which one is the default. */
import { ConfigurationError } from "../config/configuration-error.ts";
import type { Configuration } from "../config/settings.ts";
import { legacyAliases, ModelCatalog, type ServedModel } from "../models/catalog.ts";
import { defaultModel } from "../models/default-model.ts";
import {
  type ModelChoice,
  ModelChoiceError,
  type ModelChoices,
  namedChoice,
  readModelChoices,
} from "../models/model-choices.ts";
import type { PoolEntry } from "../models/open-pool.ts";

export type CatalogSettings = Pick<Configuration, "aliases" | "defaultModel" | "models">;

export interface ModelEntries {
  readonly entries: readonly PoolEntry[];
  /** The name of the default model, or of the first where requests must name one. */
  readonly first: string;
  /** One line each. */
  readonly warnings: readonly string[];
}

/**
 * The models of a configuration, none of them loaded. Throws a ConfigurationError for names that
 * clash or mean nothing, a ModelFileError for a file that cannot be served.
 */
export function readModelEntries(configuration: Configuration): ModelEntries {
  const { choices, warnings } = readChoices(configuration);
  const ids = choices.map(({ id }) => id);
  checkCatalogSettings(configuration, ids);
  const first = defaultModelOf(configuration, ids) ?? ids[0] ?? defaultModel.id;
  const entries = choices.map((choice) => poolEntry(choice, configuration, choice.id === first));
  return { entries, first, warnings };
}

interface Choice {
  readonly id: string;
  /** Undefined: the default model, which is fetched when it is not there. */
  readonly path: string | undefined;
}

function readChoices(configuration: Configuration) {
  const { choices: listed, warnings } = namedFiles(configuration);
  const seen = new Map<string, ModelChoice>();
  for (const choice of listed) {
    const other = seen.get(choice.id);
    if (other !== undefined) {
      throw new ConfigurationError(
        `model: two models are called ${choice.id}: ${other.path} and ${choice.path}; give one of ` +
          "them another name with NAME=FILE",
      );
    }
    seen.set(choice.id, choice);
  }
  const wantsDefault =
    listed.length === 0 ||
    (Object.hasOwn(configuration.models, defaultModel.id) && !seen.has(defaultModel.id));
  const byDefault: Choice[] = wantsDefault ? [{ id: defaultModel.id, path: undefined }] : [];
  return { choices: [...listed, ...byDefault], warnings };
}

/** Those of the setting `model` first, then those that the file names. */
function namedFiles({ model, models }: Configuration): ModelChoices {
  try {
    const { choices, warnings } = readModelChoices(model);
    const named = Object.entries(models).flatMap(([id, { file }]) =>
      file === undefined ? [] : [namedChoice(id, file)],
    );
    return { choices: [...choices, ...named], warnings };
  } catch (error) {
    if (error instanceof ModelChoiceError) throw new ConfigurationError(error.message);
    throw error;
  }
}

function poolEntry(choice: Choice, configuration: Configuration, isFirst: boolean): PoolEntry {
  const own = configuration.models[choice.id] ?? {};
  const { context, slots, threads, numerics, kvType, insertion } = configuration;
  return {
    id: choice.id,
    insertion: own.insertion ?? insertion,
    preload: isFirst || own.preload === true,
    settings: {
      ...configuration,
      model: choice.path,
      context: own.context ?? context,
      slots: own.slots ?? slots,
      threads: own.threads ?? threads,
      numerics: own.numerics ?? numerics,
      kvType: own.kvType ?? kvType,
    },
  };
}

/** Throws a ConfigurationError for a name that is not served. */
export function checkCatalogSettings(settings: CatalogSettings, ids: readonly string[]): void {
  const served = servedText(ids);
  for (const [alias, model] of Object.entries(settings.aliases ?? {})) {
    if (ids.includes(alias)) {
      throw new ConfigurationError(`aliases: ${alias} is the name of a model`);
    }
    if (ids.includes(model)) continue;
    throw new ConfigurationError(`aliases: ${alias} means ${model}, but ${served}`);
  }
  for (const name of Object.keys(settings.models)) {
    if (ids.includes(name)) continue;
    throw new ConfigurationError(
      `models: there are settings for ${name}, but no file, and ${served}`,
    );
  }
  const { defaultModel: wanted } = settings;
  if (typeof wanted !== "string" || ids.includes(wanted)) return;
  if (settings.aliases === undefined ? isLegacy(wanted) : Object.hasOwn(settings.aliases, wanted)) {
    return;
  }
  throw new ConfigurationError(`default-model: there is no model ${wanted}; ${served}`);
}

/** Names enough to see what is wrong. */
function servedText(ids: readonly string[]): string {
  const shown = ids.slice(0, 5).join(", ");
  const more = ids.length > 5 ? ` and ${ids.length - 5} more` : "";
  return ids.length === 1 ? `only ${shown} is served` : `only ${shown}${more} are served`;
}

/** `extraAliases` are names beside those of the settings; a model's own name wins over them. */
export function createCatalog(
  settings: CatalogSettings,
  models: readonly ServedModel[],
  extraAliases: ReadonlyMap<string, string> = new Map(),
): ModelCatalog {
  const ids = models.map(({ id }) => id);
  const extra = [...extraAliases].filter(([alias]) => !ids.includes(alias));
  return new ModelCatalog({
    models,
    aliases: new Map([...extra, ...aliasesOf(settings, ids)]),
    defaultModel: defaultModelOf(settings, ids),
  });
}

/** Of the retired models, those whose names no model has. */
function aliasesOf(settings: CatalogSettings, ids: readonly string[]): ReadonlyMap<string, string> {
  if (settings.aliases !== undefined) return new Map(Object.entries(settings.aliases));
  const wanted = settings.defaultModel;
  const target = typeof wanted === "string" && ids.includes(wanted) ? wanted : ids[0];
  if (target === undefined) return new Map();
  const names = legacyAliases.filter((alias) => !ids.includes(alias));
  return new Map(names.map((alias) => [alias, target]));
}

/** Undefined: requests must name a model. */
function defaultModelOf(settings: CatalogSettings, ids: readonly string[]): string | undefined {
  if (settings.defaultModel === null) return undefined;
  const name = settings.defaultModel ?? ids[0];
  return name === undefined ? undefined : (aliasesOf(settings, ids).get(name) ?? name);
}

const isLegacy = (name: string): boolean => legacyAliases.some((alias) => alias === name);
