/** Text to token ids, by the model's own tokenizer. */
import type { TokenizeOptions } from "../engine/engine.ts";
import type { Model } from "./model.ts";

/**
 * Token ids of a text. `addSpecial` puts BOS in front if the model file asks for it, but not a
 * second one before a text that begins with it, and never EOS behind: the text is to be continued.
 */
export function tokenize(model: Model, text: string, options: TokenizeOptions): number[] {
  const { functions, vocabulary } = model;
  const tokens = tokenizeBytes(model, new TextEncoder().encode(text), options);
  if (!options.addSpecial) return tokens;
  const bos = functions.llama_vocab_bos(vocabulary);
  const doubled = bos >= 0 && tokens[0] === bos && tokens[1] === bos;
  // With two BOS in the text itself the library's comes third.
  if (doubled && functions.llama_vocab_get_add_bos(vocabulary)) tokens.shift();
  const eos = functions.llama_vocab_eos(vocabulary);
  if (functions.llama_vocab_get_add_eos(vocabulary) && tokens.at(-1) === eos) tokens.pop();
  return tokens;
}

function tokenizeBytes(model: Model, bytes: Uint8Array, options: TokenizeOptions): number[] {
  const { addSpecial, parseSpecial } = options;
  // More tokens than bytes are rare; an empty array would be a null pointer.
  let room = bytes.length + 8;
  for (let attempt = 0; attempt < 2; attempt += 1) {
    const tokens = new Int32Array(room);
    const count = model.functions.llama_tokenize(
      model.vocabulary,
      bytes.length === 0 ? new Uint8Array(1) : bytes,
      bytes.length,
      tokens,
      room,
      addSpecial,
      parseSpecial,
    );
    if (count >= 0) return Array.from(tokens.subarray(0, count));
    room = -count;
  }
  throw new Error("The library could not split the text into tokens.");
}
