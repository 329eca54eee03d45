/** The two vocabularies that properties are checked on. */
import { type TinyVariant, tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";
import { type ServerProcess, startServer } from "../support/server-process.ts";

export interface TinyModel {
  readonly variant: TinyVariant;
  /** The names of special tokens, as they stand in `tokens`. */
  readonly specials: readonly string[];
  /** Put in front of every text by the model's own wish. */
  readonly bos: string | undefined;
}

export const tinyModels: readonly TinyModel[] = [
  { variant: "plain", specials: ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], bos: undefined },
  { variant: "bytes", specials: ["<unk>", "<s>", "</s>"], bos: "<s>" },
];

export function startTiny({ variant }: TinyModel, ...options: string[]): Promise<ServerProcess> {
  const model = tinyGgufFile({ variant });
  return startServer(["--model", model, "--threads", "1", "--log-level", "error", ...options]);
}

/** Ids go from 0 to this number less one. */
export async function vocabularySize(url: string): Promise<number> {
  const response = await fetch(`${url}/tokenizer_info`);
  return ((await response.json()) as { vocab_size: number }).vocab_size;
}
