/** From the setting `model` to a file that can be served: the user's own, or the default model. */
import { join, resolve } from "node:path";
import { readGgufHeader } from "../llama/gguf-header.ts";
import { modelNameOf } from "../llama/split-parts.ts";
import { type Converter, convertModel, isConverted } from "./converted-model.ts";
import { type DefaultModel, defaultModel } from "./default-model.ts";
import { fetchModelFile, withModelLock } from "./fetch-model.ts";
import { defaultModelSources, type FetchContext, type ModelSource } from "./model-sources.ts";
import { createReport, megabytes, type Report } from "./progress.ts";

export interface ServedModelFile {
  /** The name in the API. */
  readonly id: string;
  /** The file without folder and extension. */
  readonly artifact: string;
  readonly path: string;
}

export interface EnsureOptions {
  /** The cache folder; models are in its subfolder `models`. */
  readonly cache: string;
  readonly report?: Report;
  readonly signal?: AbortSignal;
  readonly environment?: FetchContext["environment"];
  /** For tests. */
  readonly sources?: readonly ModelSource[];
  readonly convert?: Converter;
  readonly model?: DefaultModel;
}

export function modelFolder(cache: string): string {
  return join(resolve(cache), "models");
}

/**
 * Checks a model file of the user; of a split model any part may be named. Throws a ModelFileError
 * with a sentence.
 */
export function localModel(path: string): ServedModelFile {
  const absolute = resolve(path);
  const [first = absolute] = readGgufHeader(absolute).paths;
  const artifact = modelNameOf(first);
  return { id: artifact, artifact, path: first };
}

/**
 * The default model, fetched and converted when it is not there. Throws a FetchError. When only the
 * conversion fails, the model is served as it was fetched.
 */
export async function ensureDefaultModel(options: EnsureOptions): Promise<ServedModelFile> {
  const model = options.model ?? defaultModel;
  const folder = modelFolder(options.cache);
  const environment = options.environment ?? process.env;
  const context: FetchContext = {
    folder,
    report: options.report ?? createReport(),
    signal: options.signal ?? new AbortController().signal,
    environment,
  };
  const served = join(folder, model.servedFileName);
  const wanted = { sourceSha256: model.sha256, type: model.servedType };
  if (await isConverted(served, wanted)) return defaultFile(model, served);
  return withModelLock(model.fileName, context, async () => {
    // Whoever held the lock before us may have done the work.
    if (await isConverted(served, wanted)) return defaultFile(model, served);
    const sources = options.sources ?? defaultModelSources({ environment }, model);
    const fetched = await fetchModelFile(model, sources, context);
    return convertFetched(model, fetched, served, context, options.convert);
  });
}

async function convertFetched(
  model: DefaultModel,
  fetched: string,
  served: string,
  context: FetchContext,
  convert: Converter | undefined,
): Promise<ServedModelFile> {
  const { report } = context;
  report.line(
    `Converting it to ${model.servedType} once: as good, and read more than twice as fast. The original ` +
      "stays beside it.",
  );
  try {
    const record = await convertModel({
      sourcePath: fetched,
      sourceSha256: model.sha256,
      targetPath: served,
      type: model.servedType,
      signal: context.signal,
      ...(convert === undefined ? {} : { convert }),
    });
    report.line(`The model is ready: ${served} (${megabytes(record.bytes)}).`);
    return defaultFile(model, served);
  } catch (error) {
    context.signal.throwIfAborted();
    report.line(`The conversion failed (${(error as Error).message}); serving it as it is.`);
    return defaultFile(model, fetched);
  }
}

function defaultFile(model: DefaultModel, path: string): ServedModelFile {
  return { id: model.id, artifact: modelNameOf(path), path };
}
