/** Memory that one token takes in the key-value cache, from a model file's header. */
import type { GgufHeader } from "./gguf-header.ts";

const bytesPerValue = 2; // f16

/** Keys and values of all layers. 0 where the header does not tell (recurrent models). */
export function cacheBytesPerToken({ architecture, metadata }: GgufHeader): number {
  const number = (key: string): number => Number(metadata.get(`${architecture}.${key}`) ?? 0);
  const heads = number("attention.head_count");
  if (heads === 0) return 0;
  const headLength = number("embedding_length") / heads;
  const keyLength = number("attention.key_length") || headLength;
  const valueLength = number("attention.value_length") || headLength;
  const keyHeads = number("attention.head_count_kv") || heads;
  return number("block_count") * keyHeads * (keyLength + valueLength) * bytesPerValue;
}
