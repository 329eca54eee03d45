/** From settings to the catalog: which names the one served model has. */
import { ConfigurationError } from "../config/configuration-error.ts";
import type { Configuration } from "../config/settings.ts";
import type { Engine } from "../engine/engine.ts";
import { legacyAliases, ModelCatalog } from "../models/catalog.ts";
import { alwaysLoaded } from "../models/model-lease.ts";

export type CatalogSettings = Pick<
  Configuration,
  "aliases" | "defaultModel" | "insertion" | "models"
>;

/**
 * Throws a ConfigurationError for a name that is not served. Called with `modelId` before the
 * engine starts, so that such an error comes at once.
 */
export function checkCatalogSettings(settings: CatalogSettings, modelId: string): void {
  const served = `only ${modelId} is served`;
  for (const [alias, model] of Object.entries(settings.aliases ?? {})) {
    if (model === modelId) continue;
    throw new ConfigurationError(`aliases: ${alias} means ${model}, but ${served}`);
  }
  for (const name of Object.keys(settings.models)) {
    if (name === modelId) continue;
    throw new ConfigurationError(`models: there are settings for ${name}, but ${served}`);
  }
  const known = new Set([modelId, ...aliasesOf(settings, modelId).keys()]);
  const wanted = settings.defaultModel ?? modelId;
  if (!known.has(wanted)) {
    throw new ConfigurationError(`default-model: there is no model ${wanted}; ${served}`);
  }
}

export function createCatalog(
  settings: CatalogSettings,
  model: { readonly id: string; readonly engine: Engine; readonly created: number },
): ModelCatalog {
  const aliases = aliasesOf(settings, model.id);
  const { id, created, engine } = model;
  const insertion = settings.models[id]?.insertion ?? settings.insertion;
  return new ModelCatalog({
    models: [alwaysLoaded({ id, created, insertion }, engine)],
    aliases,
    defaultModel: defaultModelOf(settings, model.id, aliases),
  });
}

function aliasesOf(settings: CatalogSettings, modelId: string): ReadonlyMap<string, string> {
  if (settings.aliases !== undefined) return new Map(Object.entries(settings.aliases));
  return new Map(legacyAliases.map((alias) => [alias, modelId]));
}

function defaultModelOf(
  settings: CatalogSettings,
  modelId: string,
  aliases: ReadonlyMap<string, string>,
): string | undefined {
  if (settings.defaultModel === null) return undefined;
  const name = settings.defaultModel ?? modelId;
  return aliases.get(name) ?? name;
}
