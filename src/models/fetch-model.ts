/**
 * Brings one file of known content into the model folder: from the folder itself, else from the
 * first source that has it. Only a file with the right SHA-256 ever gets its final name.
 */
import { mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { diskProblem, FetchError, SourceError } from "./fetch-error.ts";
import { sha256Of } from "./file-hash.ts";
import { withFileLock } from "./file-lock.ts";
import { type FetchContext, type ModelSource, pipFolderPrefix } from "./model-sources.ts";

export interface WantedFile {
  readonly fileName: string;
  readonly sha256: string;
}

/** Runs `work` while no other process fills the model folder with this file. */
export async function withModelLock<Result>(
  fileName: string,
  context: FetchContext,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    await mkdir(context.folder, { recursive: true });
    return await withFileLock(
      join(context.folder, `${fileName}.lock`),
      {
        signal: context.signal,
        onWait: () =>
          context.report.line(`Another process is fetching ${fileName}; waiting for it.`),
      },
      work,
    );
  } catch (error) {
    throw diskProblem(error, context.folder);
  }
}

/**
 * Path of the file. To be called under the lock. Throws a FetchError that names every source with
 * its reason.
 */
export async function fetchModelFile(
  wanted: WantedFile,
  sources: readonly ModelSource[],
  context: FetchContext,
): Promise<string> {
  const path = join(context.folder, wanted.fileName);
  const present = await sha256Of(path);
  if (present === wanted.sha256) return path;
  if (present !== undefined) {
    context.report.line(`${path} is damaged and is fetched again.`);
    await rm(path, { force: true });
  }
  await removeLeftovers(context.folder);
  const reasons = [`the model folder ${context.folder}: it is not there`];
  for (const source of sources) {
    context.signal.throwIfAborted();
    const partFile = join(context.folder, `${wanted.fileName}.${source.id}.part`);
    context.report.line(`Fetching ${wanted.fileName} from ${source.name}.`);
    const problem = await trySource(source, wanted, partFile, context);
    if (problem === undefined) {
      await rename(partFile, path);
      await removeParts(wanted.fileName, sources, context.folder);
      return path;
    }
    context.report.line(`${source.name} failed: ${problem}.`);
    reasons.push(`${source.name}: ${problem}`);
  }
  throw new FetchError(
    `${wanted.fileName} could not be fetched. Tried: ${reasons.join("; ")}. Start once where one of ` +
      "these can be reached, or name a model file with --model",
  );
}

/** Undefined when the part file now is the wanted file, else the reason why not. */
async function trySource(
  source: ModelSource,
  wanted: WantedFile,
  partFile: string,
  context: FetchContext,
): Promise<string | undefined> {
  const continued = await stat(partFile).then(
    (stats) => stats.size > 0,
    () => false,
  );
  try {
    await source.fetch(partFile, context);
    if ((await sha256Of(partFile)) === wanted.sha256) return undefined;
    await rm(partFile, { force: true });
    // The beginning may have been wrong, not what the source sent now: once more from nothing.
    if (continued) return await trySource(source, wanted, partFile, context);
    return `what it sent is not the file (its SHA-256 is not ${wanted.sha256.slice(0, 12)}...)`;
  } catch (error) {
    context.signal.throwIfAborted();
    const problem = diskProblem(error, context.folder);
    if (problem instanceof SourceError) return problem.message;
    await rm(partFile, { force: true });
    throw problem;
  }
}

async function removeLeftovers(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.startsWith(pipFolderPrefix)) continue;
    await rm(join(folder, name), { recursive: true, force: true });
  }
}

async function removeParts(
  fileName: string,
  sources: readonly ModelSource[],
  folder: string,
): Promise<void> {
  for (const source of sources) {
    await rm(join(folder, `${fileName}.${source.id}.part`), { force: true });
  }
}
