/**
 * Learns the pieces of a vocabulary: joins, again and again, the pair of neighbouring symbols that
 * is most frequent in the words given (byte-pair encoding). Ties go to the pair that sorts first,
 * so the same words always give the same pieces.
 */

export type Merge = readonly [left: string, right: string];

/** The merges in the order learnt, at most `count`; the words are lists of symbols. */
export function learnMerges(words: readonly (readonly string[])[], count: number): Merge[] {
  const distinct = countWords(words);
  const merges: Merge[] = [];
  while (merges.length < count) {
    const best = mostFrequentPair(distinct);
    if (best === undefined) break;
    merges.push(best);
    for (const word of distinct) word.symbols = join(word.symbols, best);
  }
  return merges;
}

interface CountedWord {
  symbols: readonly string[];
  readonly count: number;
}

/** Stands between symbols in map keys; no symbol holds it. */
const SEPARATOR = "\n";

function countWords(words: readonly (readonly string[])[]): CountedWord[] {
  const counts = new Map<string, CountedWord>();
  for (const symbols of words) {
    const key = symbols.join(SEPARATOR);
    counts.set(key, { symbols, count: (counts.get(key)?.count ?? 0) + 1 });
  }
  return [...counts.values()];
}

/** Pairs that occur once are not worth a piece. */
function mostFrequentPair(words: readonly CountedWord[]): Merge | undefined {
  const counts = new Map<string, number>();
  for (const { symbols, count } of words) {
    for (let at = 0; at + 1 < symbols.length; at++) {
      const key = `${symbols[at]}${SEPARATOR}${symbols[at + 1]}`;
      counts.set(key, (counts.get(key) ?? 0) + count);
    }
  }
  let best: string | undefined;
  let bestCount = 1;
  for (const [key, count] of counts) {
    if (count > bestCount || (count === bestCount && best !== undefined && key < best)) {
      best = key;
      bestCount = count;
    }
  }
  if (best === undefined) return undefined;
  const [left = "", right = ""] = best.split(SEPARATOR);
  return [left, right];
}

function join(symbols: readonly string[], [left, right]: Merge): string[] {
  const joined: string[] = [];
  for (let at = 0; at < symbols.length; at++) {
    const symbol = symbols[at] ?? "";
    if (symbol === left && symbols[at + 1] === right) {
      joined.push(left + right);
      at++;
    } else {
      joined.push(symbol);
    }
  }
  return joined;
}
