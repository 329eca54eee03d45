/** /tokenize, /detokenize and /tokenizer_info in vLLM's shape, which remote tokenizers expect. */
import { ApiError } from "../contract/errors.ts";
import { readModelName } from "../contract/parse-request.ts";
import {
  detokenizeRequestSchema,
  parseSideRequest,
  tokenizeRequestSchema,
} from "../contract/side-schemas.ts";
import type { Vocabulary } from "../engine/engine.ts";
import { renderToken } from "../text/render-token.ts";
import type { ServerContext } from "./server-context.ts";

/** Text that names special tokens becomes those tokens, as it does in a prompt. */
export async function tokenize(context: ServerContext, body: unknown): Promise<object> {
  const { engine } = context.catalog.resolve(readModelName(body));
  const request = parseSideRequest(tokenizeRequestSchema, body, context.options.limits);
  const addSpecial = request.add_special_tokens;
  const tokens = await engine.tokenize(request.prompt, { addSpecial, parseSpecial: true });
  const { contextLength, vocabulary } = engine.describe();
  const texts = () => tokens.map((token) => renderToken(vocabulary.bytes(token)));
  return {
    count: tokens.length,
    max_model_len: contextLength,
    tokens,
    token_strs: request.return_token_strs ? texts() : null,
  };
}

/** Bytes that are no UTF-8 in the end become replacement characters. */
export function detokenize(context: ServerContext, body: unknown): object {
  const { engine } = context.catalog.resolve(readModelName(body));
  const { tokens } = parseSideRequest(detokenizeRequestSchema, body, context.options.limits);
  const { vocabulary } = engine.describe();
  const max = vocabulary.size - 1;
  for (const token of tokens) {
    if (token < 0 || token > max) throw new ApiError("invalidToken", { token, max });
  }
  const bytes = Buffer.concat(tokens.map((token) => vocabulary.bytes(token)));
  return { prompt: bytes.toString("utf8") };
}

/** `model` is the query's, or undefined for the default model. */
export function tokenizerInfo(context: ServerContext, model: string | undefined): object {
  const { engine } = context.catalog.resolve(model);
  const { vocabulary, contextLength } = engine.describe();
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
