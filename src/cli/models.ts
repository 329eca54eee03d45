/** `completionist models`: what is in the model folder, and fetching the default model. */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { LoadedConfiguration } from "../config/load.ts";
import { defaultModel } from "../models/default-model.ts";
import { megabytes } from "../models/progress.ts";
import { ensureDefaultModel, modelFolder } from "../models/served-model.ts";
import { signalExitCode, watchStopSignals } from "./stop-signals.ts";

const notes: ReadonlyMap<string, string> = new Map([
  [defaultModel.servedFileName, "the default model, as it is served"],
  [defaultModel.fileName, "the default model, as it was fetched"],
]);

/** One line a file: size, name, what it is. Files under way are listed too. */
export async function listModels(loaded: LoadedConfiguration): Promise<number> {
  const folder = modelFolder(loaded.configuration.cache);
  const names = await readdir(folder).catch(() => []);
  const models = names.filter((name) => /\.(gguf|part)$/.test(name)).toSorted();
  process.stdout.write(`${folder}\n`);
  for (const name of models) {
    const { size } = await stat(join(folder, name));
    const note = notes.get(name) ?? (name.endsWith(".part") ? "not complete" : "");
    const line = `${megabytes(size).padStart(9)}  ${name}${note === "" ? "" : `  (${note})`}`;
    process.stdout.write(`${line}\n`);
  }
  if (models.length === 0) process.stdout.write("  no models yet\n");
  return 0;
}

/** Brings the default model and prints its path. */
export async function pullModel(loaded: LoadedConfiguration): Promise<number> {
  const signals = watchStopSignals();
  try {
    const { path } = await ensureDefaultModel({
      cache: loaded.configuration.cache,
      signal: signals.stopped,
    });
    process.stdout.write(`${path}\n`);
    return 0;
  } catch (error) {
    if (signals.stopped.aborted) return signalExitCode(signals.signal);
    throw error;
  } finally {
    signals.dispose();
  }
}
