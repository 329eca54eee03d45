/**
 * Writes a model as several files, as llama.cpp's splitting tool lays them out: all metadata in the
 * first part, in the others only which part they are.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { partPath } from "../split-parts.ts";
import { encodeGguf, type GgufFile, type GgufValue } from "./gguf-file.ts";

export interface SplitOptions {
  readonly folder: string;
  readonly name: string;
  readonly count: number;
  /** The first part then has the metadata alone. */
  readonly emptyFirst?: boolean;
}

/** Writes the parts, with the tensors shared out evenly in their order; gives their paths. */
export function writeSplitGguf(file: GgufFile, options: SplitOptions): string[] {
  const { count, emptyFirst = false } = options;
  const fillable = emptyFirst ? count - 1 : count;
  const share = Math.ceil(file.tensors.length / fillable);
  const stem = join(options.folder, options.name);
  return Array.from({ length: count }, (_, part) => {
    const place = emptyFirst ? part - 1 : part;
    const tensors = place < 0 ? [] : file.tensors.slice(place * share, (place + 1) * share);
    const metadata = new Map<string, GgufValue>([
      ...(part === 0 ? file.metadata : []),
      ["split.no", { kind: "uint16", value: part }],
      ["split.count", { kind: "uint16", value: count }],
      ["split.tensors.count", { kind: "int32", value: file.tensors.length }],
    ]);
    const path = partPath({ stem, part: 1, count }, part + 1);
    writeFileSync(path, encodeGguf({ metadata, tensors }));
    return path;
  });
}
