/**
 * Texts become tokens at the engine's cost, and some texts of a megabyte take its tokenizer minutes,
 * in which it generates nothing. So a long text is first read in part: when its beginning alone has
 * far more tokens than can be used, the rest is not looked at.
 */
import type { Engine, TokenizeOptions } from "../engine/engine.ts";
import { contextLengthError } from "./context-length.ts";

/** Ordinary text has half of it. Texts up to this many UTF-16 units a token are read at once. */
const unitsPerToken = 8;
/** The end of a cut text may give a few tokens more than the same place in the whole; not twice. */
const surplus = 2;

/**
 * Tokens of a text that has to fit the model's context. Throws the context error, with the number
 * of tokens estimated from the part that was read, for a text that is far longer.
 */
export async function tokenizeWithin(
  engine: Engine,
  text: string,
  options: TokenizeOptions & { readonly maxTokens: number },
): Promise<readonly number[]> {
  const { maxTokens, ...tokenizeOptions } = options;
  const { contextLength } = engine.describe();
  const { tokens, unitsRead } = await readStart(engine, text, tokenizeOptions, contextLength);
  if (unitsRead === text.length) return tokens;
  const promptTokens = Math.round((tokens.length * text.length) / unitsRead);
  throw contextLengthError({ promptTokens, maxTokens, contextLength });
}

/** At least the first `tokensMax` tokens of a text, where it has as many. */
export async function tokenizeStart(
  engine: Engine,
  text: string,
  options: TokenizeOptions,
  tokensMax: number,
): Promise<readonly number[]> {
  const { tokens } = await readStart(engine, text, options, tokensMax);
  return tokens;
}

/** Reads longer and longer beginnings until one has surely enough tokens, or is the whole text. */
async function readStart(
  engine: Engine,
  text: string,
  options: TokenizeOptions,
  tokensMax: number,
): Promise<{ tokens: readonly number[]; unitsRead: number }> {
  for (let units = unitsPerToken * tokensMax; units < text.length; units *= 2) {
    // Half a surrogate pair at the cut is no text.
    const start = text.slice(0, units).toWellFormed();
    const tokens = await engine.tokenize(start, options);
    if (tokens.length > surplus * tokensMax) return { tokens, unitsRead: units };
  }
  return { tokens: await engine.tokenize(text, options), unitsRead: text.length };
}
