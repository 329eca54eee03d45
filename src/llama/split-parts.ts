/**
 * A large model may be split into several files, named `NAME-00001-of-00003.gguf`: the library
 * finds all of them by that pattern.
 */
import { existsSync } from "node:fs";
import { basename } from "node:path";
import { ModelFileError } from "./model-file-error.ts";

const partsMax = 1_000;

export interface SplitName {
  /** What comes before the number, folder included. */
  readonly stem: string;
  /** From 1. */
  readonly part: number;
  readonly count: number;
}

/** What the name of a part says; undefined for any other name. */
export function splitNameOf(path: string): SplitName | undefined {
  const match = /^(?<stem>.+)-(?<part>\d{5})-of-(?<count>\d{5})\.gguf$/s.exec(path)?.groups;
  if (match === undefined) return undefined;
  const [part, count] = [Number(match.part), Number(match.count)];
  if (part < 1 || count < 1 || part > count) return undefined;
  return { stem: match.stem ?? "", part, count };
}

export function partPath({ stem, count }: SplitName, part: number): string {
  const number = (value: number): string => String(value).padStart(5, "0");
  return `${stem}-${number(part)}-of-${number(count)}.gguf`;
}

/**
 * Where the model begins that `path` belongs to: its first part, when the name is one of a part and
 * that file is there, else `path` itself.
 */
export function firstPartOf(path: string): string {
  const name = splitNameOf(path);
  if (name === undefined || name.part === 1) return path;
  const first = partPath(name, 1);
  return existsSync(first) ? first : path;
}

/**
 * The files of a model whose first part `path` says it has `count` of them, in order. Throws a
 * ModelFileError when the name does not fit or one is missing.
 */
export function splitPartPaths(path: string, count: number): readonly string[] {
  if (count <= 1) return [path];
  const name = splitNameOf(path);
  if (count > partsMax || name?.count !== count) {
    const message = `The model file ${path} is one of ${count} parts, but its name does not say so.`;
    throw new ModelFileError("damaged", path, message);
  }
  const paths = Array.from({ length: count }, (_, index) => partPath(name, index + 1));
  const missing = paths.filter((each) => !existsSync(each));
  const [first] = missing;
  if (first !== undefined) {
    const names = missing.map((each) => basename(each)).join(", ");
    const verb = missing.length === 1 ? "is" : "are";
    throw new ModelFileError(
      "missing",
      first,
      `The model in ${path} is split into ${count} files and ${names} ${verb} missing.`,
    );
  }
  return paths;
}

/** A file name without folder, extension and part number: what a model is called by default. */
export function modelNameOf(path: string): string {
  const name = splitNameOf(path);
  return basename(name === undefined ? path : name.stem).replace(/\.gguf$/i, "");
}
