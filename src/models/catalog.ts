/** Which model names exist, and what is known about each without loading it. */
import type { Insertion } from "../completion/insertion.ts";
import { ApiError } from "../contract/errors.ts";
import { shorten } from "../contract/shorten.ts";
import type { ModelLease } from "./model-lease.ts";

export type { Insertion };

/** A model that requests may name; whether it is in memory shows only in how long a lease takes. */
export interface ServedModel {
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  /** How `suffix` is served: FIM tokens, reranking of candidates, or not at all. */
  readonly insertion: Insertion;
  /** Tokens of one sequence, from the last load, or from file and settings before the first. */
  readonly contextLength: number;
  /**
   * The model's engine for as long as the lease is held; loads the model when it has to. Release
   * the lease in any case, or use `useModel`. Throws an ApiError (`modelFailed`, `overloaded`,
   * `shuttingDown`), or the signal's reason when it was aborted.
   */
  acquire(signal: AbortSignal): Promise<ModelLease>;
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

  /**
   * The model behind a name, an alias or, for undefined, the default. Loads nothing. Names are only
   * looked up here and never become paths. Throws an ApiError.
   */
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
