/** The raw distribution at one position, asked of the server token by token. */
import type { Api } from "./api.ts";
import { logprobsOf, numbers } from "./wire.ts";

/**
 * The raw logprob of every token of the vocabulary after `context`, read by scoring
 * `[...context, token]` for each: an account of the distribution that no sampling touches.
 */
export async function rawDistribution(api: Api, context: readonly number[]): Promise<number[]> {
  const size = await vocabularySize(api);
  const prompts = Array.from({ length: size }, (_, token) => [...context, token]);
  const request = { prompt: prompts, max_tokens: 0, echo: true, logprobs: 0 };
  const { choices } = await api.complete(request);
  return numbers(choices.map((choice) => logprobsOf(choice).token_logprobs.at(-1) ?? null));
}

export async function vocabularySize(api: Api): Promise<number> {
  const { text } = await api.send("/tokenizer_info");
  return (JSON.parse(text) as { vocab_size: number }).vocab_size;
}

/** How every token of the vocabulary is written in `tokens`. */
export async function tokenTexts(api: Api): Promise<string[]> {
  const size = await vocabularySize(api);
  const prompt = Array.from({ length: size }, (_, token) => [token]);
  const { choices } = await api.complete({ prompt, max_tokens: 0, echo: true, logprobs: 0 });
  return choices.map((choice) => logprobsOf(choice).tokens[0] as string);
}
