/** The catalog as one key sees it: a key may be limited to some models. */
import type { Principal } from "../access/access.ts";
import { ApiError } from "../contract/errors.ts";
import { shorten } from "../contract/shorten.ts";
import type { ModelCatalog, ServedModel } from "../models/catalog.ts";

/** The part of a catalog that routes use. */
export type NamedModels = Pick<ModelCatalog, "resolve" | "list">;

/**
 * Any of a model's names in the key's list permits the model under all of them. Others are as good
 * as not there.
 */
export function permittedModels(catalog: NamedModels, { models }: Principal): NamedModels {
  if (models === undefined) return catalog;
  const ids = new Set(
    catalog.list().flatMap(({ id, model }) => (models.includes(id) ? [model.id] : [])),
  );
  const isPermitted = (model: ServedModel) => ids.has(model.id);
  return {
    list: () => catalog.list().filter(({ model }) => isPermitted(model)),
    resolve: (name) => {
      const model = catalog.resolve(name);
      if (isPermitted(model)) return model;
      throw new ApiError("modelNotFound", { model: shorten(name ?? model.id) });
    },
  };
}
