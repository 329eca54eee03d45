/** `completionist models list`, `pull` and `remove`: what is in the model folder. */
import type { LoadedConfiguration } from "../config/load.ts";
import { defaultModel } from "../models/default-model.ts";
import { pullFromHuggingFace } from "../models/hugging-face.ts";
import { megabytes } from "../models/progress.ts";
import { ensureDefaultModel, modelFolder } from "../models/served-model.ts";
import { listStored, removeStored, type StoredModel, storedType } from "../models/stored-models.ts";
import { signalExitCode, watchStopSignals } from "./stop-signals.ts";

const notes: ReadonlyMap<string, string> = new Map([
  [defaultModel.servedFileName, "the default model, as it is served"],
  [defaultModel.fileName, "the default model, as it was fetched"],
]);

/** One line a model: size, weight type, name, what it is. Files under way are listed too. */
export async function listModels(loaded: LoadedConfiguration): Promise<number> {
  const folder = modelFolder(loaded.configuration.cache);
  const models = await listStored(folder);
  process.stdout.write(`${folder}\n`);
  const types = models.map(storedType);
  const width = Math.max(0, ...types.map((type) => type.length));
  for (const [index, model] of models.entries()) {
    const size = megabytes(model.bytes).padStart(9);
    const note = notesOf(model).map((text) => `  (${text})`);
    const type = (types[index] ?? "").padEnd(width);
    process.stdout.write(`${size}  ${type}  ${model.fileName}${note.join("")}\n`);
  }
  if (models.length === 0) process.stdout.write("  no models yet\n");
  return 0;
}

function notesOf({ fileName, parts, paths }: StoredModel): readonly string[] {
  const note = notes.get(fileName);
  const whole = paths.length === parts;
  const files = parts === 1 ? [] : [whole ? `${parts} files` : `${paths.length} of ${parts} files`];
  return note === undefined ? files : [...files, note];
}

/** Brings a model and prints its path. */
export async function pullModel(loaded: LoadedConfiguration, name?: string): Promise<number> {
  const signals = watchStopSignals();
  const options = { cache: loaded.configuration.cache, signal: signals.stopped };
  try {
    const path = await pullPath(name, options);
    process.stdout.write(`${path}\n`);
    return 0;
  } catch (error) {
    if (signals.stopped.aborted) return signalExitCode(signals.signal);
    throw error;
  } finally {
    signals.dispose();
  }
}

async function pullPath(
  name: string | undefined,
  options: { readonly cache: string; readonly signal: AbortSignal },
): Promise<string> {
  if (name === undefined || name === defaultModel.id) {
    return (await ensureDefaultModel(options)).path;
  }
  return pullFromHuggingFace(name, options);
}

/** Removes a model and prints the paths that are gone. */
export async function removeModel(loaded: LoadedConfiguration, name: string): Promise<number> {
  const gone = await removeStored(name, modelFolder(loaded.configuration.cache));
  process.stdout.write(gone.map((path) => `removed ${path}\n`).join(""));
  return 0;
}
