/** Bodies of POST /v1/completions: valid ones by the contract's ranges, then changed. */
import { type Loose, Pairs, writeLoose } from "./loose-json.ts";
import { anyText, oddKeys, oddText, oddValue } from "./odd-values.ts";
import type { Random } from "./random.ts";

/** Candidates times tokens that one body may cost: more would only be slow. */
const tokensMax = 6000;

type Make = (random: Random) => Loose;

const texts = ["The river", "Once upon a time, ", "def f(x):\n", "水を", "a", "\n", "Grüße, 😀 "];

const text: Make = (random) =>
  random.chance(0.7) ? random.pick(texts).repeat(random.between(1, 3)) : anyText(random, 20);

/** Every tiny vocabulary has these ids. */
const tokens: Make = (random) => random.list(random.between(1, 12), () => random.integer(400));

const prompt: Make = (random) => {
  switch (random.integer(6)) {
    case 0:
      return random.list(random.between(1, 4), () => text(random));
    case 1:
      return tokens(random);
    case 2:
      return random.list(random.between(1, 3), () => tokens(random));
    case 3:
      return random.pick([null, "", "<|endoftext|>"]);
    default:
      return text(random);
  }
};

const decimal =
  (min: number, max: number): Make =>
  (random) =>
    random.chance(0.3) ? random.pick([min, max]) : min + random.fraction() * (max - min);

const integer =
  (min: number, max: number): Make =>
  (random) =>
    random.between(min, max);

const flag: Make = (random) => random.chance(0.5);

const stopText: Make = (random) =>
  random.pick(["\n", ".", " the", "e", "😀", "<|endoftext|>", "é"]);

/** Each field with its chance to be sent. */
const fields: readonly (readonly [name: string, chance: number, make: Make])[] = [
  ["model", 0.2, (random) => random.pick(["", null, "davinci-002", "text-davinci-003"])],
  ["prompt", 0.95, prompt],
  ["max_tokens", 0.8, integer(0, 12)],
  ["n", 0.3, integer(1, 4)],
  ["best_of", 0.2, integer(0, 5)],
  ["echo", 0.3, flag],
  ["logprobs", 0.35, integer(0, 5)],
  ["temperature", 0.4, decimal(0, 2)],
  ["top_p", 0.3, decimal(0, 1)],
  ["frequency_penalty", 0.2, decimal(-2, 2)],
  ["presence_penalty", 0.2, decimal(-2, 2)],
  [
    "logit_bias",
    0.2,
    (random) => new Pairs([[String(random.integer(400)), random.between(-100, 100)]]),
  ],
  ["seed", 0.3, (random) => random.pick([0, 1, -1, 2 ** 53, random.integer(1e9)])],
  [
    "stop",
    0.3,
    (random) =>
      random.chance(0.5)
        ? stopText(random)
        : random.list(random.integer(5), () => stopText(random)),
  ],
  ["stream", 0.3, flag],
  [
    "stream_options",
    0.15,
    (random) =>
      new Pairs([
        ["include_usage", flag(random)],
        ["include_obfuscation", flag(random)],
      ]),
  ],
  ["suffix", 0.12, text],
  ["user", 0.1, text],
  ["top_k", 0.1, integer(-1, 50)],
  ["min_p", 0.1, decimal(0, 1)],
  ["repetition_penalty", 0.1, decimal(0.5, 2)],
  ["ignore_eos", 0.15, flag],
  ["min_tokens", 0.1, integer(0, 12)],
  ["stop_token_ids", 0.1, (random) => random.list(random.integer(4), () => random.integer(400))],
  ["include_stop_str_in_output", 0.1, flag],
  ["skip_special_tokens", 0.1, flag],
];

/** Fields right one by one; a few combinations of them are refused. */
export function validBody(random: Random): Pairs {
  const body = new Pairs();
  for (const [name, chance, make] of fields)
    if (random.chance(chance)) body.set(name, make(random));
  return body;
}

/** A body's text, up to three changes away from a valid one. */
export function bodyText(random: Random): string {
  if (random.chance(0.02)) return writeLoose(oddValue(random));
  const body = validBody(random);
  const changes = random.chance(0.25) ? 0 : random.between(1, 3);
  for (let change = 0; change < changes; change += 1) changeBody(body, random);
  limitCost(body);
  return writeLoose(body);
}

function changeBody(body: Pairs, random: Random): void {
  const [name, , make] = random.pick(fields);
  switch (random.integer(7)) {
    case 0:
      body.entries.push([random.pick(oddKeys), oddValue(random)]);
      return;
    case 1:
      body.entries.splice(random.integer(body.entries.length + 1), 1);
      return;
    case 2: // doubled
      body.entries.push([name, random.chance(0.5) ? make(random) : oddValue(random)]);
      return;
    case 3: // something odd inside of a right value
      body.set(name, changeInside(make(random), random));
      return;
    case 4:
      body.set(name, random.chance(0.5) ? [make(random)] : new Pairs([[name, make(random)]]));
      return;
    case 5:
      body.set(name, oddText(random));
      return;
    default:
      body.set(name, oddValue(random));
  }
}

function changeInside(value: Loose, random: Random): Loose {
  if (Array.isArray(value)) {
    value.splice(random.integer(value.length + 1), random.integer(2), oddValue(random));
    return value;
  }
  if (value instanceof Pairs) {
    value.entries.push([random.pick(oddKeys), oddValue(random)]);
    return value;
  }
  return typeof value === "number" ? value * random.pick([-1, 1e6, 1e300, 0.1]) : oddValue(random);
}

/** What is valid and long is cut to a few tokens; what is not valid costs nothing. */
function limitCost(body: Pairs): void {
  let parsed: Record<string, unknown>;
  try {
    parsed = JSON.parse(writeLoose(body)) as Record<string, unknown>;
  } catch {
    return;
  }
  const number = (name: string, fallback: number) =>
    typeof parsed[name] === "number" ? (parsed[name] as number) : fallback;
  const prompts = Array.isArray(parsed.prompt) ? parsed.prompt.length : 1;
  const candidates = Math.max(number("n", 1), number("best_of", 1)) * prompts;
  const rerank = parsed.suffix === undefined ? 1 : 20;
  if (number("max_tokens", 16) * candidates * rerank > tokensMax)
    body.entries.push(["max_tokens", 1]);
}
