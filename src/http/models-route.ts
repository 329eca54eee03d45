/** GET /v1/models and its relatives: which names a request may use. */
import type { Limits } from "../contract/limits.ts";
import { describeLimits, type ModelEntry } from "../contract/side-schemas.ts";
import type { ServedModel } from "../models/catalog.ts";
import type { NamedModels } from "./permitted-models.ts";

/** What these routes need; the agent command has it too. */
interface ModelsContext {
  readonly catalog: NamedModels;
  readonly options: { readonly limits: Limits };
}

export function listModels({ catalog, options }: ModelsContext): object {
  const data = catalog.list().map(({ id, model }) => modelEntry(id, model, options.limits));
  return { object: "list", data };
}

/** Throws `modelNotFound` for a name that no request could use. */
export function retrieveModel({ catalog, options }: ModelsContext, id: string): object {
  return modelEntry(id, catalog.resolve(id), options.limits);
}

/** The same list under the name that models had until 2022. */
export function listEngines({ catalog }: ModelsContext): object {
  return { object: "list", data: catalog.list().map(({ id }) => engineEntry(id)) };
}

export function retrieveEngine({ catalog }: ModelsContext, id: string): object {
  catalog.resolve(id);
  return engineEntry(id);
}

const engineEntry = (id: string): object => ({
  id,
  object: "engine",
  owner: "completionist",
  ready: true,
});

function modelEntry(id: string, model: ServedModel, limits: Limits): ModelEntry {
  return {
    id,
    object: "model",
    created: model.created,
    owned_by: "completionist",
    max_model_len: model.contextLength,
    limits: describeLimits(limits),
  };
}

/** The id in `{id}/completions`, which is undefined for every other rest of a path. */
export function engineOfPath(rest: string): string | undefined {
  return /^(.+)\/completions$/.exec(rest)?.[1];
}
