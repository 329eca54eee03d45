/** Text to token ids, by the model's own tokenizer. */
import type { TokenizeOptions } from "../engine/engine.ts";
import type { Model } from "./model.ts";

/**
 * Token ids of a text. `addSpecial` puts BOS in front if the model file asks for it, but not a
 * second one before a text that begins with it, and never EOS behind: the text is to be continued.
 */
export function tokenize(model: Model, text: string, options: TokenizeOptions): number[] {
  return withoutExtras(
    model,
    tokenizeBytes(model, new TextEncoder().encode(text), options),
    options,
  );
}

/**
 * As `tokenize`, on a thread of its own: some texts take the library's tokenizer minutes, and the
 * calling thread has a model to step. The library reads a vocabulary from any thread.
 */
export async function tokenizeApart(
  model: Model,
  text: string,
  options: TokenizeOptions,
): Promise<number[]> {
  const bytes = new TextEncoder().encode(text);
  const { addSpecial, parseSpecial } = options;
  const { vocabulary, functions } = model;
  let tokens = new Int32Array(bytes.length + 8);
  const call = () =>
    new Promise<number>((resolve, reject) => {
      const done = (error: Error | null, count: number) => (error ? reject(error) : resolve(count));
      const { length } = bytes;
      const room = tokens.length;
      functions.tokenizeApart(
        ...([vocabulary, bytes, length, tokens, room, addSpecial, parseSpecial] as const),
        done,
      );
    });
  let count = await call();
  if (count < 0) {
    tokens = new Int32Array(-count);
    count = await call();
  }
  if (count < 0) throw unsplittable();
  return withoutExtras(model, Array.from(tokens.subarray(0, count)), options);
}

function withoutExtras(model: Model, tokens: number[], options: TokenizeOptions): number[] {
  const { functions, vocabulary } = model;
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
  throw unsplittable();
}

function unsplittable(): Error {
  return new Error("The library could not split the text into tokens.");
}
