/** The model folder: which models are in it, under which names they are found, removing them. */
import { readdir, rm, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { readGgufHeader } from "../llama/gguf-header.ts";
import { ModelFileError } from "../llama/model-file-error.ts";
import { modelNameOf, partPath, splitNameOf } from "../llama/split-parts.ts";
import { recordPath } from "./converted-model.ts";
import { type DefaultModel, defaultModel } from "./default-model.ts";
import { diskProblem, FetchError } from "./fetch-error.ts";
import { ownTypeName } from "./optimize-types.ts";
import { type EnsureOptions, ensureDefaultModel, modelFolder } from "./served-model.ts";

export interface StoredModel {
  /** The file's name; of a split model the first part's. */
  readonly fileName: string;
  /** The files that are there. */
  readonly paths: readonly string[];
  readonly bytes: number;
  /** Files of a split model; else 1. */
  readonly parts: number;
  /** Not complete: a download under way, or one that was given up. */
  readonly partial: boolean;
}

/** What is in the folder, by name; nothing when there is no folder. */
export async function listStored(folder: string): Promise<readonly StoredModel[]> {
  const names = (await readdir(folder).catch(() => [])).filter((name) =>
    /\.(gguf|part)$/.test(name),
  );
  const groups = Map.groupBy(names.toSorted(), (name) => {
    const split = splitNameOf(name);
    return split === undefined ? name : partPath(split, 1);
  });
  const models: StoredModel[] = [];
  for (const [fileName, files] of groups) {
    const paths = files.map((name) => join(folder, name));
    const sizes = await Promise.all(paths.map(sizeOf));
    models.push({
      fileName,
      paths,
      bytes: sizes.reduce((total, size) => total + size, 0),
      parts: splitNameOf(fileName)?.count ?? 1,
      partial: fileName.endsWith(".part"),
    });
  }
  return models;
}

/** `Q8_0`; the problem of a file that is no sound model. */
export function storedType({ paths, partial }: StoredModel): string {
  if (partial) return "not complete";
  try {
    return ownTypeName(readGgufHeader(paths[0] ?? ""));
  } catch (error) {
    if (error instanceof ModelFileError) return error.reason;
    throw error;
  }
}

/** The models of the folder that a name means: file names, those without `.gguf`, the default's. */
export async function findStored(
  name: string,
  folder: string,
  model: DefaultModel = defaultModel,
): Promise<readonly StoredModel[]> {
  const stored = await listStored(folder);
  const named = stored.filter(
    ({ fileName, paths }) =>
      modelNameOf(fileName) === name || paths.some((path) => path === join(folder, name)),
  );
  if (named.length > 0 || name !== model.id) return named;
  const files = new Set([model.servedFileName, model.fileName]);
  return stored
    .filter(({ fileName }) => files.has(fileName))
    .toSorted((left) => (left.fileName === model.servedFileName ? -1 : 1));
}

/** The file that a path or the name of a stored model means. Throws a ModelFileError. */
export async function locateModel(named: string, folder: string): Promise<string> {
  const path = resolve(named);
  if ((await stat(path).catch(() => undefined)) !== undefined) return path;
  const [found] = isPlainName(named) ? await findStored(named, folder) : [];
  if (found?.paths[0] !== undefined) return found.paths[0];
  const elsewhere = isPlainName(named) ? `, and no model ${named} in ${folder}` : "";
  throw new ModelFileError("missing", path, `There is no model file at ${path}${elsewhere}.`);
}

/** The model that is to be improved: for the default one, fetched if need be, the original file. */
export async function originalOf(
  named: string | undefined,
  options: EnsureOptions,
): Promise<string> {
  const folder = modelFolder(options.cache);
  const model = options.model ?? defaultModel;
  if (named !== undefined && named !== model.id) return locateModel(named, folder);
  const served = await ensureDefaultModel(options);
  const original = join(folder, model.fileName);
  return (await sizeOf(original)) > 0 ? original : served.path;
}

/**
 * Removes what a name means from the folder, and gives the paths that are gone; the default model's
 * name means both of its files. Throws a FetchError when it means nothing in there.
 */
export async function removeStored(name: string, folder: string): Promise<readonly string[]> {
  if (!isPlainName(name)) {
    throw new FetchError(`"${name}" is no name of a model in ${folder}; names have no folders`);
  }
  const found = await findStored(name, folder);
  if (found.length === 0) {
    throw new FetchError(
      `there is no model "${name}" in ${folder}; see: npx completionist models list`,
    );
  }
  const paths = found.flatMap((each) => each.paths);
  try {
    for (const path of paths) {
      await rm(path);
      await rm(recordPath(path), { force: true });
    }
  } catch (error) {
    throw diskProblem(error, folder);
  }
  return paths;
}

/** Nothing that leads out of a folder. */
function isPlainName(name: string): boolean {
  return name !== "" && name !== "." && name !== ".." && !/[/\\\0]/.test(name);
}

async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    (stats) => stats.size,
    () => 0,
  );
}
