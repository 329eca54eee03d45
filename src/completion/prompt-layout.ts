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
import type { PreparedPrompt } from "./prompt.ts";

export interface PromptEntry {
  readonly token: number;
  readonly text: string;
  readonly offset: number;
}

export function layOutPrompt(prompt: PreparedPrompt, vocabulary: Vocabulary): PromptEntry[] {
  const length = countCodePoints(prompt.text);
  const assembler = new Utf8Assembler();
  const entries: PromptEntry[] = [];
  let complete = 0;
  for (const [index, token] of prompt.tokens.entries()) {
    const bytes = visibleBytes(prompt, index, vocabulary);
    const text = renderToken(index < prompt.hiddenTokens ? vocabulary.bytes(token) : bytes);
    entries.push({ token, text, offset: Math.min(complete, length) });
    if (index >= prompt.hiddenTokens) complete += countCodePoints(assembler.push(bytes));
  }
  return entries;
}

/**
 * The bytes of a token as they stand in the text: SentencePiece vocabularies put a space in front
 * of the text's first word that the text does not have.
 */
function visibleBytes(prompt: PreparedPrompt, index: number, vocabulary: Vocabulary): Uint8Array {
  const bytes = vocabulary.bytes(prompt.tokens[index] as number);
  const isFirst = index === prompt.hiddenTokens;
  const space = 0x20;
  if (!isFirst || bytes[0] !== space || prompt.text.startsWith(" ")) return bytes;
  return bytes.subarray(1);
}
