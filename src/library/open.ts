/** Opens a model in this program: no server, no port, the same answers. */
import { checkSetting } from "../config/load.ts";
import { limitsProfiles } from "../contract/limits.ts";
import type { EmbeddedEngine } from "../llama/embedded-engine.ts";
import { legacyAliases, ModelCatalog } from "../models/catalog.ts";
import { alwaysLoaded } from "../models/model-lease.ts";
import { openModel } from "../models/open-model.ts";
import { createReport, silentReport } from "../models/progress.ts";
import { createLog } from "../observe/log.ts";
import type { CompletionClient } from "./client.ts";
import { LocalClient } from "./local-client.ts";

/** All are optional: without any, the default model is opened. */
export interface OpenOptions {
  /**
   * Path of a GGUF file. Default: SmolLM2-135M-Instruct, which is fetched once (about 100 MB).
   */
  readonly model?: string | undefined;
  /** Tokens of one sequence, prompt and completion. Default 4,096, or the model's if that is less. */
  readonly context?: number | undefined;
  /** Sequences evaluated at once; further ones wait. Default 8, fewer where memory is short. */
  readonly slots?: number | undefined;
  /** Threads that the engine computes with. Default: their number follows what else runs. */
  readonly threads?: number | undefined;
  /**
   * `reproducible` (the default): the same request gives the same bytes, whatever else runs. `exact`:
   * generation also equals scoring to the bit. `fast`: neither, for the most tokens a second.
   */
  readonly numerics?: "fast" | "reproducible" | "exact" | undefined;
  /** Number type of the key cache. `q8_0` halves it and costs a little accuracy. Default `f16`. */
  readonly kvType?: "f16" | "q8_0" | undefined;
  /**
   * How `suffix` is answered: `auto` (the default), `fim`, `rerank`, `off`, or a template with
   * `{prefix}` and `{suffix}`.
   */
  readonly insertion?: string | undefined;
  /** `openai` (the default): logprobs up to 5, stop up to 4. `extended`: up to 20 and 64. */
  readonly limits?: "openai" | "extended" | undefined;
  /** Whether requests with unknown fields are refused instead of ignoring these. Default true. */
  readonly strict?: boolean | undefined;
  /**
   * Folder of fetched models. Default: the environment variable `COMPLETIONIST_CACHE`, else
   * `~/.cache/completionist`.
   */
  readonly cache?: string | undefined;
  /** How much is logged on standard error. Default `silent`. */
  readonly logLevel?:
    | "silent"
    | "fatal"
    | "error"
    | "warn"
    | "info"
    | "debug"
    | "trace"
    | undefined;
  /** Says nothing on standard error while the default model is fetched. Default false. */
  readonly quiet?: boolean | undefined;
  /** Gives up opening. It has no effect on what was opened. */
  readonly signal?: AbortSignal | undefined;
}

export interface EngineHealth {
  /** `starting`: it died and is started again; calls wait for it. `failed`: it died too often. */
  readonly state: "ready" | "starting" | "failed";
  /** How often it was started again. */
  readonly restarts: number;
  /** Why it had to be, by kind; `start`: it did not get as far as serving. */
  readonly faults: Readonly<
    Record<"crash" | "killed" | "out_of_memory" | "hang" | "start", number>
  >;
  /** The process that runs the model. */
  readonly pid: number | undefined;
  /** Why it failed. A failed model is tried again every two minutes, and when its file changes. */
  readonly reason?: string;
  /** Why the process last had to be replaced. */
  readonly lastFault?: string;
}

/** A model that runs on this machine, in a process of its own, until it is closed. */
export interface OpenedModelClient extends CompletionClient {
  /** The name of the model: what requests may call it, and what answers call it. */
  readonly model: string;
  /** Tokens of one sequence: prompt and completion together. */
  readonly contextLength: number;
  health(): EngineHealth;
}

/**
 * Opens a model file or the default model. Throws a ConfigurationError for a wrong option, a
 * ModelFileError for a file that cannot be used, a FetchError when the default model cannot be
 * fetched, an EngineStartError when the engine does not start on it; each names what to do.
 *
 * The program does not end by itself before the client is closed.
 */
export async function open(options: OpenOptions = {}): Promise<OpenedModelClient> {
  const settings = readSettings(options);
  const log = createLog({ level: settings.logLevel, format: "auto" });
  const signal = options.signal ?? new AbortController().signal;
  const report = options.quiet === true ? silentReport : createReport();
  const { file, engine } = await openModel(settings, { log, signal, report });
  return new OpenedClient(file.id, engine, settings);
}

function readSettings(options: OpenOptions) {
  const cache = options.cache ?? (process.env.COMPLETIONIST_CACHE || undefined);
  return {
    model: checkSetting("model", options.model)[0],
    context: checkSetting("context", options.context),
    slots: checkSetting("slots", options.slots),
    threads: checkSetting("threads", options.threads),
    numerics: checkSetting("numerics", options.numerics),
    kvType: checkSetting("kvType", options.kvType),
    insertion: checkSetting("insertion", options.insertion),
    limits: checkSetting("limits", options.limits),
    strict: checkSetting("strict", options.strict ?? true),
    cache: checkSetting("cache", cache),
    logLevel: checkSetting("logLevel", options.logLevel ?? "silent"),
  };
}

type Settings = ReturnType<typeof readSettings>;

class OpenedClient extends LocalClient implements OpenedModelClient {
  readonly model: string;
  readonly contextLength: number;
  readonly #engine: EmbeddedEngine;

  constructor(id: string, engine: EmbeddedEngine, settings: Settings) {
    const created = Math.floor(Date.now() / 1000);
    const { insertion, limits, strict } = settings;
    const catalog = new ModelCatalog({
      models: [alwaysLoaded({ id, created, insertion }, engine)],
      aliases: new Map(legacyAliases.map((alias) => [alias, id])),
      defaultModel: id,
    });
    super({ engine, catalog, limits: limitsProfiles[limits], strict });
    this.model = id;
    this.contextLength = engine.describe().contextLength;
    this.#engine = engine;
  }

  health(): EngineHealth {
    return this.#engine.state();
  }
}
