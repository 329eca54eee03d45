/** Recognises the model that a server began with, so that no other is ever served in its place. */
import { stat } from "node:fs/promises";
import { hashModelFiles } from "./fingerprint.ts";
import { readGgufHeader } from "./gguf-header.ts";

/** Changes whenever a file is replaced or written to; says `ENOENT` of one that is gone. */
export async function filesState(paths: readonly string[]): Promise<string> {
  const states = await Promise.all(paths.map(fileState));
  return states.join(" ");
}

async function fileState(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs } = await stat(path, { bigint: true });
    return `${dev}:${ino}:${size}:${mtimeNs}`;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? "unreadable";
  }
}

/** Of files read before, by path: a model that is loaded again is not read through again. */
const known = new Map<string, { readonly state: string; readonly hash: string }>();

async function hashOf(paths: readonly string[], state: string): Promise<string> {
  const key = paths.join("\0");
  const before = known.get(key);
  if (before?.state === state) return before.hash;
  const hash = await hashModelFiles(paths);
  known.set(key, { state, hash });
  return hash;
}

export class ModelIdentity {
  readonly paths: readonly string[];
  /** SHA-256 of the files, in hex. */
  readonly hash: string;
  #state: string;
  /** What the files held when they were found touched: large ones are not read again each time. */
  #touched: { readonly state: string; readonly hash: Promise<string> } | undefined;

  private constructor(paths: readonly string[], hash: string, state: string) {
    this.paths = paths;
    this.hash = hash;
    this.#state = state;
  }

  /** Throws a ModelFileError, or what reading the file throws. */
  static async of(modelPath: string): Promise<ModelIdentity> {
    const { paths } = readGgufHeader(modelPath);
    const state = await filesState(paths);
    return new ModelIdentity(paths, await hashOf(paths, state), state);
  }

  /**
   * Throws an Error of one sentence when the files hold anything else by now. They are read only
   * when they were touched.
   */
  async check(): Promise<void> {
    const state = await filesState(this.paths);
    if (state === this.#state) return;
    if (this.#touched?.state !== state) {
      this.#touched = { state, hash: hashModelFiles(this.paths) };
    }
    if ((await this.#touched.hash) !== this.hash) {
      throw new Error(
        `The model file ${this.paths[0]} is no longer the one that was served; start the server ` +
          "again to serve what is there now.",
      );
    }
    this.#state = state;
  }
}
