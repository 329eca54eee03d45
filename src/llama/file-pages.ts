/**
 * Memory of a model file that nobody reads any more. Where the library rewrites weights for the
 * processor it copies them into memory of its own, and the file's mapped pages, still counted as
 * this process's memory, only wait. Linux alone can be asked about it.
 */
import { readFileSync, realpathSync, statSync } from "node:fs";
import koffi from "koffi";

const dontNeed = 4; // MADV_DONTNEED
/** Of the file's size, how much must have been copied to be worth giving its pages back. */
const copiedShareMin = 1 / 2;

/** Bytes of this process that no file backs; undefined where the system does not tell. */
export function anonymousBytes(): number | undefined {
  try {
    const kilobytes = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
  } catch {
    return undefined;
  }
}

/**
 * Loads by calling `load`; when that copied most of the files' bytes, gives back the pages that
 * they are mapped to. What is read again after all comes back from the system's cache.
 */
export function loadReleasingPages<Loaded>(paths: readonly string[], load: () => Loaded): Loaded {
  const beforeBytes = anonymousBytes();
  const loaded = load();
  const afterBytes = anonymousBytes();
  if (beforeBytes === undefined || afterBytes === undefined) return loaded;
  const copied = afterBytes - beforeBytes > copiedShareMin * sizeOf(paths);
  if (copied) releaseFilePages(paths.map((path) => realpathSync(path)));
  return loaded;
}

const sizeOf = (paths: readonly string[]): number =>
  paths.reduce((sum, path) => sum + statSync(path).size, 0);

export interface Mapping {
  readonly address: bigint;
  readonly bytes: bigint;
}

/** Where files are mapped, by the text of /proc/self/maps. */
export function mappingsOf(maps: string, paths: readonly string[]): readonly Mapping[] {
  const found: Mapping[] = [];
  for (const line of maps.split("\n")) {
    // 7f35a4000000-7f35ac800000 r--s 00000000 fe:01 1234    /folder/model.gguf
    const [, start, end, path] = /^([0-9a-f]+)-([0-9a-f]+)(?: \S+){4}\s+(.+)$/.exec(line) ?? [];
    if (path === undefined || !paths.includes(path)) continue;
    const address = BigInt(`0x${start}`);
    found.push({ address, bytes: BigInt(`0x${end}`) - address });
  }
  return found;
}

function releaseFilePages(paths: readonly string[]): void {
  try {
    const advise = koffi.load("libc.so.6").func("int madvise(uint64_t, uint64_t, int)");
    for (const { address, bytes } of mappingsOf(readFileSync("/proc/self/maps", "utf8"), paths)) {
      advise(address, bytes, dontNeed);
    }
  } catch {
    // Another C library: the pages stay, until the system wants them for something else.
  }
}
