/** From the texts of `--model` to the files that are served, each under its name. */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { ModelFileError } from "../llama/model-file-error.ts";
import { splitNameOf } from "../llama/split-parts.ts";
import { localModel } from "./served-model.ts";

export interface ModelChoice {
  /** The name in the API. */
  readonly id: string;
  /** Absolute. */
  readonly path: string;
}

export interface ModelChoices {
  readonly choices: readonly ModelChoice[];
  /** Files of folders that were left out, one line each. */
  readonly warnings: readonly string[];
}

/** What is wrong with a choice of models; the message is for the user. */
export class ModelChoiceError extends Error {
  override readonly name = "ModelChoiceError";
}

/** Names stand in URLs, in headers and in lists between commas. */
const namePattern = /^[^\s,=\p{Cc}]{1,200}$/u;

/**
 * Each entry is `FILE`, `NAME=FILE` or a folder, which stands for all GGUF files in it. Throws a
 * ModelChoiceError, or a ModelFileError for a file that cannot be served.
 */
export function readModelChoices(entries: readonly string[]): ModelChoices {
  const parts = entries.map((entry) => readEntry(entry));
  return {
    choices: parts.flatMap(({ choices }) => choices),
    warnings: parts.flatMap(({ warnings }) => warnings),
  };
}

function readEntry(entry: string): ModelChoices {
  const { id, path } = splitEntry(entry);
  if (id === undefined) return isFolder(path) ? readFolder(path) : one(fileChoice(path));
  if (path === "") throw new ModelChoiceError(`model: there is no file after "${id}="`);
  if (isFolder(path)) {
    throw new ModelChoiceError(
      `model: ${path} is a folder; its models cannot share the name ${id}`,
    );
  }
  return one(namedChoice(id, path));
}

/** The two sides of an entry. A file that is there wins, whatever characters its path has. */
export function splitEntry(entry: string): {
  readonly id: string | undefined;
  readonly path: string;
} {
  const place = isThere(entry) ? -1 : entry.indexOf("=");
  if (place < 0) return { id: undefined, path: entry };
  return { id: entry.slice(0, place).trim(), path: entry.slice(place + 1).trim() };
}

const one = (choice: ModelChoice): ModelChoices => ({ choices: [choice], warnings: [] });

/** A file under a name that the user gave. Throws as `readModelChoices`. */
export function namedChoice(id: string, file: string): ModelChoice {
  checkModelName(id);
  return { id, path: localModel(file).path };
}

/** Throws a ModelChoiceError. */
export function checkModelName(id: string): void {
  if (namePattern.test(id)) return;
  throw new ModelChoiceError(
    `model: "${id}" cannot be a model's name; expected up to 200 characters without spaces, ` +
      "commas and =",
  );
}

function fileChoice(file: string): ModelChoice {
  const { id, path } = localModel(file);
  return { id, path };
}

/** Files that cannot be served are left out: one must not keep the others away. */
function readFolder(folder: string): ModelChoices {
  const names = readdirSync(folder)
    .filter((name) => /\.gguf$/i.test(name) && (splitNameOf(name)?.part ?? 1) === 1)
    .toSorted();
  const choices: ModelChoice[] = [];
  const warnings: string[] = [];
  for (const name of names) {
    try {
      choices.push(fileChoice(join(folder, name)));
    } catch (error) {
      if (!(error instanceof ModelFileError)) throw error;
      warnings.push(`${error.message} It is left out.`);
    }
  }
  if (choices.length > 0) return { choices, warnings };
  throw new ModelChoiceError(`model: the folder ${folder} has no GGUF file that can be served`);
}

const isThere = (path: string): boolean => statOf(path) !== undefined;
const isFolder = (path: string): boolean => statOf(path)?.isDirectory() === true;
const statOf = (path: string) => statSync(path, { throwIfNoEntry: false });
