/**
 * The text of one candidate between the tokens that make it and the outside: it assembles
 * characters, holds back what a stop string may still take, and releases the rest in groups.
 */
import { countCodePoints } from "./code-points.ts";
import { type StopMatch, StopMatcher, type StopPatterns } from "./stop-matcher.ts";
import { Utf8Assembler } from "./utf8-assembler.ts";

export interface HeldTextOptions {
  readonly patterns: StopPatterns;
  /** Whether a matched stop string stays in the text. */
  readonly includeMatch: boolean;
  /** Stop strings are searched in the text behind this many tokens. */
  readonly searchAfterTokens: number;
}

/** Text of one token, or of several where later ones complete a character of earlier ones. */
export interface TextGroup {
  readonly text: string;
  /** One for each token, in the order in which they were pushed: code points before the token. */
  readonly offsets: readonly number[];
}

export interface TextRelease {
  readonly groups: readonly TextGroup[];
  /** A stop string ended the text: `groups` are the last, tokens not released are not part of it. */
  readonly stopped: boolean;
}

interface HeldToken {
  /** UTF-16 units and code points of the whole text before the token. */
  readonly start: number;
  readonly offset: number;
}

interface HeldGroup {
  readonly start: number;
  readonly text: string;
  readonly tokens: readonly HeldToken[];
  /** Whether a stop string may start in this group. */
  readonly searched: boolean;
}

export class HeldText {
  readonly #options: HeldTextOptions;
  readonly #matcher: StopMatcher | undefined;
  readonly #assembler = new Utf8Assembler();
  #held: HeldGroup[] = [];
  #openText = "";
  #openTokens: HeldToken[] = [];
  #tokenCount = 0;
  /** Units and code points of all closed groups. */
  #units = 0;
  #codePoints = 0;
  /** Where the search for stop strings began, in units. */
  #origin = 0;
  #match: StopMatch | undefined;
  #releasedCodePoints = 0;

  constructor(options: HeldTextOptions) {
    this.#options = options;
    if (options.patterns.strings.length > 0) this.#matcher = new StopMatcher(options.patterns);
  }

  /** Code points released so far. */
  get releasedCodePoints(): number {
    return this.#releasedCodePoints;
  }

  /** Takes the next token's bytes (none for a token without text). */
  push(bytes: Uint8Array): TextRelease {
    const first = bytes[0];
    if (first !== undefined && this.#assembler.pending && !this.#assembler.continues(first)) {
      this.#openText += this.#assembler.end();
      this.#close();
    }
    this.#openTokens.push({
      start: this.#units + this.#openText.length,
      offset: this.#codePoints + countCodePoints(this.#openText),
    });
    this.#tokenCount += 1;
    this.#openText += this.#assembler.push(bytes);
    if (!this.#assembler.pending) this.#close();
    return this.#match === undefined ? this.#releaseSafe() : this.#releaseCut(this.#match);
  }

  /** No token follows: everything held is decided and released. */
  end(): TextRelease {
    this.#openText += this.#assembler.end();
    if (this.#openTokens.length > 0) this.#close();
    const match = this.#match ?? this.#matcher?.end();
    return match === undefined ? this.#releaseAll() : this.#releaseCut(match);
  }

  /** Ends the open group and searches its text. */
  #close(): void {
    const text = this.#openText;
    const tokens = this.#openTokens;
    const firstToken = this.#tokenCount - tokens.length;
    const searched = this.#matcher !== undefined && firstToken >= this.#options.searchAfterTokens;
    this.#held.push({ start: this.#units, text, tokens, searched });
    this.#openText = "";
    this.#openTokens = [];
    this.#units += text.length;
    this.#codePoints += countCodePoints(text);
    if (searched) this.#match ??= this.#matcher?.push(text);
    else this.#origin = this.#units;
  }

  #releaseSafe(): TextRelease {
    const matcher = this.#matcher;
    if (matcher === undefined) return this.#releaseAll();
    const safe = this.#origin + matcher.safeLength(this.#options.includeMatch);
    // A group without text is not released before the text behind it: a match that starts right
    // there leaves it outside.
    const blocked = this.#held.findIndex(
      ({ start, text, searched }) => searched && (start + text.length > safe || start >= safe),
    );
    const released = this.#held.splice(0, blocked === -1 ? this.#held.length : blocked);
    return { groups: released.map((group) => this.#release(group)), stopped: false };
  }

  #releaseAll(): TextRelease {
    const released = this.#held;
    this.#held = [];
    return { groups: released.map((group) => this.#release(group)), stopped: false };
  }

  /** Releases what stands before the cut and forgets the rest. */
  #releaseCut(match: StopMatch): TextRelease {
    const cut = this.#origin + (this.#options.includeMatch ? match.end : match.start);
    const groups: TextGroup[] = [];
    for (const { start, text, tokens, searched } of this.#held) {
      if (searched && start >= cut) continue;
      groups.push(
        this.#release({
          start,
          text: text.slice(0, cut - start),
          tokens: tokens.filter((token) => !searched || token.start < cut),
          searched,
        }),
      );
    }
    this.#held = [];
    return { groups, stopped: true };
  }

  #release({ text, tokens }: HeldGroup): TextGroup {
    this.#releasedCodePoints += countCodePoints(text);
    return { text, offsets: tokens.map((token) => token.offset) };
  }
}
