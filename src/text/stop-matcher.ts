/**
 * Finds the first stop string in a text that arrives in pieces, and tells how much of the text no
 * stop string can take back any more. Each pattern keeps the length of its longest beginning that
 * ends the text (Knuth, Morris and Pratt), so no text is ever read twice.
 */

/** Stop strings prepared once for all candidates of a job. */
export class StopPatterns {
  readonly strings: readonly string[];
  /** For each string and length: the longest proper beginning that also ends that beginning. */
  readonly borders: readonly Int32Array[];

  /**
   * Empty strings are left out, and so are strings with a lone surrogate: decoded text never has
   * one, and half of a character must not match.
   */
  constructor(strings: readonly string[]) {
    this.strings = [...new Set(strings)].filter((string) => string !== "" && string.isWellFormed());
    this.borders = this.strings.map(bordersOf);
  }
}

/** Where a stop string stands, in UTF-16 units of the searched text. */
export interface StopMatch {
  readonly start: number;
  readonly end: number;
}

export class StopMatcher {
  readonly #patterns: StopPatterns;
  /** By pattern: how many of its units the end of the text matches. */
  readonly #matched: Int32Array;
  /** By pattern: where its first match starts, or -1. */
  readonly #found: Float64Array;
  #best: StopMatch | undefined;
  #length = 0;

  constructor(patterns: StopPatterns) {
    this.#patterns = patterns;
    this.#matched = new Int32Array(patterns.strings.length);
    this.#found = new Float64Array(patterns.strings.length).fill(-1);
  }

  /**
   * Takes the next piece of text. Gives the match once it is certain: the earliest, and among
   * those that start there the longest. Until then a match may be known that a longer or an
   * earlier one can still replace.
   */
  push(text: string): StopMatch | undefined {
    const { strings, borders } = this.#patterns;
    for (let pattern = 0; pattern < strings.length; pattern += 1) {
      if (this.#found[pattern] !== -1) continue;
      const end = this.#advance(pattern, strings[pattern] ?? "", borders[pattern], text);
      if (end !== undefined) this.#record(pattern, this.#length + end);
    }
    this.#length += text.length;
    return this.#isDecided() ? this.#best : undefined;
  }

  /** The match when no more text follows. */
  end(): StopMatch | undefined {
    return this.#best;
  }

  /**
   * Units from the start that stay in the text whatever follows. With `includeMatch` the matched
   * string itself stays, so that only text behind a known match is uncertain.
   */
  safeLength(includeMatch: boolean): number {
    if (includeMatch) return this.#best?.end ?? this.#length;
    let safe = this.#best?.start ?? this.#length;
    for (let pattern = 0; pattern < this.#matched.length; pattern += 1) {
      if (this.#found[pattern] === -1) safe = Math.min(safe, this.#startOf(pattern));
    }
    return safe;
  }

  /** Reads text for one pattern; the index behind its first match, or undefined. */
  #advance(
    pattern: number,
    string: string,
    borders: Int32Array | undefined,
    text: string,
  ): number | undefined {
    let matched = this.#matched[pattern] ?? 0;
    for (let index = 0; index < text.length; index += 1) {
      const unit = text.charCodeAt(index);
      while (matched > 0 && string.charCodeAt(matched) !== unit) matched = borders?.[matched] ?? 0;
      if (string.charCodeAt(matched) === unit) matched += 1;
      if (matched === string.length) return index + 1;
    }
    this.#matched[pattern] = matched;
    return undefined;
  }

  #record(pattern: number, end: number): void {
    const start = end - (this.#patterns.strings[pattern]?.length ?? 0);
    this.#found[pattern] = start;
    const best = this.#best;
    const isBetter =
      best === undefined || start < best.start || (start === best.start && end > best.end);
    if (isBetter) this.#best = { start, end };
  }

  /** Whether no pattern that is still being matched can give a better match than the best. */
  #isDecided(): boolean {
    const best = this.#best;
    if (best === undefined) return false;
    return this.#patterns.strings.every((string, pattern) => {
      if (this.#found[pattern] !== -1) return true;
      const start = this.#startOf(pattern);
      return start > best.start || (start === best.start && start + string.length <= best.end);
    });
  }

  /** The earliest place where an unfinished match of this pattern can start. */
  #startOf(pattern: number): number {
    return this.#length - (this.#matched[pattern] ?? 0);
  }
}

/** `borders[length]` belongs to the beginning of that length. */
function bordersOf(string: string): Int32Array {
  const borders = new Int32Array(string.length + 1);
  let border = 0;
  for (let index = 1; index < string.length; index += 1) {
    const unit = string.charCodeAt(index);
    while (border > 0 && string.charCodeAt(border) !== unit) border = borders[border] ?? 0;
    if (string.charCodeAt(border) === unit) border += 1;
    borders[index + 1] = border;
  }
  return borders;
}
