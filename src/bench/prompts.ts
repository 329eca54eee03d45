/**
 * Prompts of words in an order of chance: real tokens, and no two prompts begin alike, so that no
 * cache spares a server anything that the row does not ask for.
 */

const text =
  "The harbour was quiet before the morning boats came in, and the old keeper counted lamps by " +
  "their colour while rain moved slowly over green hills. A letter arrived from the north with " +
  "news about winter bread, copper roofs, seven horses and a river that nobody had ever crossed " +
  "alone. Children asked why stars do not fall; their teacher drew a circle, two lines and one " +
  "small word, then opened every window of the long white room above the market street.";

/** Tokens that prompts are made of; more are not needed. */
const kindsMin = 16;

export class Prompts {
  readonly #tokens: readonly number[];

  constructor(tokens: readonly number[]) {
    this.#tokens = [...new Set(tokens)];
    if (this.#tokens.length < kindsMin) {
      throw new RangeError(`prompts need ${kindsMin} kinds of tokens, not ${this.#tokens.length}`);
    }
  }

  /** The words as tokens of the model that a completionist server at `url` has. */
  static async from(url: string, signal: AbortSignal): Promise<Prompts> {
    const response = await fetch(`${url}/tokenize`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ prompt: text, add_special_tokens: false }),
      signal,
    });
    const { tokens } = (await response.json()) as { readonly tokens: readonly number[] };
    return new Prompts(tokens);
  }

  fresh(length: number): number[] {
    const kinds = this.#tokens.length;
    return Array.from({ length }, () => this.#tokens[Math.floor(Math.random() * kinds)] as number);
  }
}
