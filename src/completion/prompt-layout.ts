/**
 * Where each prompt token stands in the prompt's text, for echoed logprobs.
 *
 *   tokens   <s>   The   ·caf   \xc3   \xa9   .
 *   text           The   ·caf   é-----------  .
 *   offset   0     0     3      7      7      8
 *
 * An offset counts the code points that are complete before the token. A hidden token (added BOS,
 * document start) adds nothing to the text.
 */
import type { Vocabulary } from "../engine/engine.ts";
import { countCodePoints } from "../text/code-points.ts";
import { renderToken } from "../text/render-token.ts";
import { Utf8Assembler } from "../text/utf8-assembler.ts";
import { tokenText } from "./logprobs.ts";
import { decode, type PreparedPrompt } from "./prompt.ts";

export interface PromptEntry {
  readonly token: number;
  readonly text: string;
  readonly offset: number;
}

export function layOutPrompt(prompt: PreparedPrompt, vocabulary: Vocabulary): PromptEntry[] {
  const hidden = prompt.tokens.slice(0, prompt.hiddenTokens);
  const entries: PromptEntry[] = hidden.map((token) => ({
    token,
    text: tokenText(token, vocabulary),
    offset: 0,
  }));
  const length = countCodePoints(prompt.text);
  const assembler = new Utf8Assembler();
  let complete = 0;
  for (const { token, bytes } of visibleTokens(prompt, vocabulary)) {
    const first = bytes[0];
    // A begun character that this token does not go on with has ended in front of it.
    if (first !== undefined && assembler.pending && !assembler.continues(first)) {
      complete += countCodePoints(assembler.end());
    }
    entries.push({ token, text: renderToken(bytes), offset: Math.min(complete, length) });
    complete += countCodePoints(assembler.push(bytes));
  }
  return entries;
}

interface VisibleToken {
  readonly token: number;
  /** As they stand in the text. */
  readonly bytes: Uint8Array;
}

const space = 0x20;
/** SentencePiece vocabularies write a space as this character and read both as a space. */
const writtenSpace = "\u2581";

/**
 * SentencePiece vocabularies put a space in front of the text, and behind special tokens in it,
 * that the text does not have: where the text does not go on with such a token, the token without
 * its space is what stands there.
 */
function visibleTokens(prompt: PreparedPrompt, vocabulary: Vocabulary): VisibleToken[] {
  const tokens = prompt.tokens.slice(prompt.hiddenTokens);
  const visible = tokens.map((token) => ({ token, bytes: vocabulary.bytes(token) }));
  if (decode(tokens, vocabulary) === prompt.text) return visible;
  const text = Buffer.from(prompt.text.replaceAll(writtenSpace, " "));
  let position = 0;
  return visible.map(({ token, bytes }) => {
    const added = bytes[0] === space && !standsAt(text, position, bytes);
    const rest = bytes.subarray(1);
    const shown = added && standsAt(text, position, rest) ? rest : bytes;
    position += shown.length;
    return { token, bytes: shown };
  });
}

function standsAt(text: Buffer, position: number, bytes: Uint8Array): boolean {
  return text.subarray(position, position + bytes.length).equals(bytes);
}
