/** The tokens of a vocabulary that end a generation, found once. */
import type { Vocabulary } from "./engine.ts";

const known = new WeakMap<Vocabulary, readonly number[]>();

export function endTokens(vocabulary: Vocabulary): readonly number[] {
  const found = known.get(vocabulary);
  if (found !== undefined) return found;
  const ends: number[] = [];
  for (let token = 0; token < vocabulary.size; token++) {
    if (vocabulary.isEndOfGeneration(token)) ends.push(token);
  }
  known.set(vocabulary, ends);
  return ends;
}
