/** Answers as clients read them, and what tests compute from them. */

export interface Logprobs {
  readonly tokens: string[];
  readonly token_logprobs: (number | null)[];
  readonly top_logprobs: (Readonly<Record<string, number>> | null)[];
  readonly text_offset: number[];
}

export interface Choice {
  readonly text: string;
  readonly index: number;
  readonly logprobs: Logprobs | null;
  readonly finish_reason: "stop" | "length" | null;
}

export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details: { readonly cached_tokens: number };
}

export interface Completion {
  readonly id: string;
  readonly object: string;
  readonly created: number;
  readonly model: string;
  readonly choices: Choice[];
  readonly usage: Usage;
  readonly system_fingerprint: string;
}

export interface Chunk extends Omit<Completion, "usage"> {
  readonly usage?: Usage | null;
  readonly obfuscation?: string;
}

export interface ApiError {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
}

/** The chunks of each choice put together, in the order of the indexes. */
export function foldChunks(chunks: readonly Chunk[]): Choice[] {
  const folded = new Map<number, Choice>();
  for (const choice of chunks.flatMap(({ choices }) => choices)) {
    const known = folded.get(choice.index);
    folded.set(choice.index, known === undefined ? choice : join(known, choice));
  }
  return [...folded.values()].sort((left, right) => left.index - right.index);
}

function join(left: Choice, right: Choice): Choice {
  return {
    text: left.text + right.text,
    index: left.index,
    logprobs:
      left.logprobs === null || right.logprobs === null
        ? null
        : {
            tokens: [...left.logprobs.tokens, ...right.logprobs.tokens],
            token_logprobs: [...left.logprobs.token_logprobs, ...right.logprobs.token_logprobs],
            top_logprobs: [...left.logprobs.top_logprobs, ...right.logprobs.top_logprobs],
            text_offset: [...left.logprobs.text_offset, ...right.logprobs.text_offset],
          },
    finish_reason: right.finish_reason ?? left.finish_reason,
  };
}

/** The only choice of an answer, or the one with that index. */
export function choiceOf(answer: { readonly choices: readonly Choice[] }, index = 0): Choice {
  const choice = answer.choices[index];
  if (choice === undefined) throw new Error(`the answer has no choice ${index}`);
  return choice;
}

export function logprobsOf(choice: Choice): Logprobs {
  if (choice.logprobs === null) throw new Error("the choice has no logprobs");
  return choice.logprobs;
}

/** Values that must not be null. */
export function numbers(values: readonly (number | null)[]): number[] {
  return values.map((value) => {
    if (value === null) throw new Error("a logprob is null");
    return value;
  });
}

export const sum = (values: readonly number[]): number =>
  values.reduce((total, value) => total + value, 0);

export const codePoints = (text: string): number => [...text].length;

export interface RawEntry {
  readonly key: string;
  /** The number as it was written. */
  readonly digits: string;
}

/**
 * The `top_logprobs` of a body in the order and with the digits in which they were written, which
 * a parsed object does not keep. Null where the entry is null.
 */
export function rawTopLogprobs(body: string): (RawEntry[] | null)[] {
  const maps: (RawEntry[] | null)[] = [];
  for (const start of body.matchAll(/"top_logprobs":\[/g)) {
    const tokens = /(null)|(\{)|("(?:[^"\\]|\\.)*"):([^,}]+)|([},])|(\])/y;
    tokens.lastIndex = start.index + start[0].length;
    for (let found = tokens.exec(body); found !== null; found = tokens.exec(body)) {
      const [, isNull, opens, key, digits, , ends] = found;
      if (ends !== undefined) break;
      if (isNull !== undefined) maps.push(null);
      else if (opens !== undefined) maps.push([]);
      else if (key !== undefined && digits !== undefined) {
        maps.at(-1)?.push({ key: JSON.parse(key) as string, digits });
      }
    }
  }
  return maps;
}

/** The numbers of all `token_logprobs` of a body as they were written. */
export function rawTokenLogprobs(body: string): string[] {
  return [...body.matchAll(/"token_logprobs":\[([^\]]*)\]/g)].flatMap(([, list = ""]) =>
    list === "" ? [] : list.split(","),
  );
}

/** Whether a text may be cut anywhere: no character is two UTF-16 units. */
export const isNarrow = (text: string): boolean => !/[\ud800-\udfff]/.test(text);

/** Whether the tokens of a choice are its text (no parts of characters, no hidden tokens). */
export const isPlain = (choice: Choice): boolean =>
  isNarrow(choice.text) && logprobsOf(choice).tokens.join("") === choice.text;
