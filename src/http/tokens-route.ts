/** /tokenize, /detokenize and /tokenizer_info in vLLM's shape, which remote tokenizers expect. */
import { ApiError } from "../contract/errors.ts";
import type { Limits } from "../contract/limits.ts";
import { readModelName } from "../contract/parse-request.ts";
import { shorten } from "../contract/shorten.ts";
import {
  detokenizeRequestSchema,
  parseSideRequest,
  tokenizeRequestSchema,
} from "../contract/side-schemas.ts";
import type { Vocabulary } from "../engine/engine.ts";
import type { ModelCatalog } from "../models/catalog.ts";
import { useModel } from "../models/model-lease.ts";
import { renderToken } from "../text/render-token.ts";

/** Some texts take time that grows with the square of their length. */
export const tokenizedCharactersMax = 1_000_000;

/** The part of a server's context that these routes need; the library has it too. */
export interface TokensContext {
  readonly catalog: Pick<ModelCatalog, "resolve">;
  readonly options: { readonly limits: Limits };
}

export interface TokenizeAnswer {
  readonly count: number;
  readonly max_model_len: number;
  readonly tokens: readonly number[];
  readonly token_strs: readonly string[] | null;
}

/** Text that names special tokens becomes those tokens, as it does in a prompt. */
export async function tokenize(
  context: TokensContext,
  body: unknown,
  signal: AbortSignal,
): Promise<TokenizeAnswer> {
  const model = context.catalog.resolve(readModelName(body));
  const request = parseSideRequest(tokenizeRequestSchema, body, context.options.limits);
  const { length } = request.prompt;
  if (length > tokenizedCharactersMax) {
    const reason = `a text of ${length} characters; at most ${tokenizedCharactersMax} are accepted`;
    throw new ApiError("invalidValue", { param: "prompt", reason });
  }
  const addSpecial = request.add_special_tokens;
  const { tokens, contextLength, vocabulary } = await useModel(model, signal, async (engine) => {
    const options = { addSpecial, parseSpecial: true };
    return { tokens: await engine.tokenize(request.prompt, options), ...engine.describe() };
  });
  const texts = () => tokens.map((token) => renderToken(vocabulary.bytes(token)));
  return {
    count: tokens.length,
    max_model_len: contextLength,
    tokens,
    token_strs: request.return_token_strs ? texts() : null,
  };
}

/** Bytes that are no UTF-8 in the end become replacement characters. */
export async function detokenize(
  context: TokensContext,
  body: unknown,
  signal: AbortSignal,
): Promise<{ readonly prompt: string }> {
  const model = context.catalog.resolve(readModelName(body));
  const { tokens } = parseSideRequest(detokenizeRequestSchema, body, context.options.limits);
  const { vocabulary } = await useModel(model, signal, (engine) => engine.describe());
  const max = vocabulary.size - 1;
  for (const token of tokens) {
    if (token < 0 || token > max)
      throw new ApiError("invalidToken", { token: shorten(token), max });
  }
  const bytes = Buffer.concat(tokens.map((token) => vocabulary.bytes(token)));
  return { prompt: bytes.toString("utf8") };
}

/** `model` is the query's, or undefined for the default model. */
export async function tokenizerInfo(
  context: TokensContext,
  name: string | undefined,
  signal: AbortSignal,
): Promise<object> {
  const model = context.catalog.resolve(name);
  const description = await useModel(model, signal, (engine) => engine.describe());
  const { vocabulary, contextLength } = description;
  const text = (token: number | undefined) => specialText(vocabulary, token);
  return {
    tokenizer_class: "completionist",
    bos_token: text(vocabulary.bos),
    eos_token: text(vocabulary.eos),
    pad_token: text(vocabulary.pad),
    add_bos_token: vocabulary.addsBos,
    vocab_size: vocabulary.size,
    model_max_length: contextLength,
    chat_template: vocabulary.chatTemplate ?? null,
  };
}

function specialText(vocabulary: Vocabulary, token: number | undefined): string | null {
  return token === undefined ? null : renderToken(vocabulary.bytes(token));
}
