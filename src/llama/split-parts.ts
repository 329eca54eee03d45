/**
 * A large model may be split into several files, named `NAME-00001-of-00003.gguf`: the library
 * finds the later ones by that pattern.
 */
import { existsSync } from "node:fs";
import { ModelFileError } from "./model-file-error.ts";

const partsMax = 1_000;

/**
 * Checks that every part of a model split into `count` files is there, `path` being the first.
 * Throws a ModelFileError.
 */
export function checkSplitParts(path: string, count: number): void {
  if (count <= 1) return;
  const match = /^(?<stem>.*)-(?<part>\d{5})-of-(?<count>\d{5})\.gguf$/.exec(path)?.groups;
  if (count > partsMax || match === undefined || Number(match.count) !== count) {
    const message = `The model file ${path} is one of ${count} parts, but its name does not say so.`;
    throw new ModelFileError("damaged", path, message);
  }
  if (match.part !== "00001") {
    const message = `The model file ${path} is a later part of a split model; name the first one.`;
    throw new ModelFileError("unsupported", path, message);
  }
  for (let part = 2; part <= count; part += 1) {
    const other = `${match.stem}-${String(part).padStart(5, "0")}-of-${match.count}.gguf`;
    if (!existsSync(other)) {
      const message = `The model in ${path} is split into ${count} files and ${other} is missing.`;
      throw new ModelFileError("missing", other, message);
    }
  }
}
