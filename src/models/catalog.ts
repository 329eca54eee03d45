/** Which model names exist and which engine answers for each. */
import type { Insertion } from "../completion/insertion.ts";
import { ApiError } from "../contract/errors.ts";
import { shorten } from "../contract/shorten.ts";
import type { Engine } from "../engine/engine.ts";

export type { Insertion };

export interface ServedModel {
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  readonly engine: Engine;
  /** How `suffix` is served: FIM tokens, reranking of candidates, or not at all. */
  readonly insertion: Insertion;
}

/** Names of retired OpenAI models: they mean the default model unless configured away. */
export const legacyAliases = [
  "gpt-3.5-turbo-instruct",
  "davinci-002",
  "babbage-002",
  "text-davinci-003",
] as const;

export interface CatalogOptions {
  readonly models: readonly ServedModel[];
  /** Alias to model id. */
  readonly aliases: ReadonlyMap<string, string>;
  /** The model that answers when a request names none; undefined: naming one is a must. */
  readonly defaultModel: string | undefined;
}

export class ModelCatalog {
  readonly #models: ReadonlyMap<string, ServedModel>;
  readonly #aliases: ReadonlyMap<string, string>;
  readonly #defaultModel: string | undefined;

  constructor(options: CatalogOptions) {
    this.#models = new Map(options.models.map((model) => [model.id, model]));
    this.#aliases = options.aliases;
    this.#defaultModel = options.defaultModel;
  }

  /** The model behind a name, an alias or, for undefined, the default. Throws an ApiError. */
  resolve(name: string | undefined): ServedModel {
    const wanted = name ?? this.#defaultModel;
    if (wanted === undefined) throw new ApiError("missingModel");
    const model = this.#models.get(wanted) ?? this.#models.get(this.#aliases.get(wanted) ?? "");
    if (model === undefined) throw new ApiError("modelNotFound", { model: shorten(wanted) });
    return model;
  }

  /** Every name that `resolve` takes, models before aliases. */
  list(): readonly { readonly id: string; readonly model: ServedModel }[] {
    const named = [...this.#models.values()].map((model) => ({ id: model.id, model }));
    const aliased = [...this.#aliases.keys()].map((id) => ({ id, model: this.resolve(id) }));
    return [...named, ...aliased];
  }
}
