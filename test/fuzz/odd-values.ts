/** Values and texts that programs trip over. */
import { type Loose, Pairs, Raw } from "./loose-json.ts";
import type { Random } from "./random.ts";

const oddNumbers: readonly string[] = [
  "-1",
  "0",
  "-0",
  "0.5",
  "1.0",
  "1e0",
  "1e2",
  "2.0000001",
  "-2.5",
  "101",
  "1e308",
  "-1e308",
  "1e309",
  "1e-400",
  "5e-324",
  "2147483648",
  "4294967296",
  "9007199254740993",
  "9223372036854775807",
  "-9223372036854775809",
  "18446744073709551616",
  `1${"0".repeat(400)}`,
  `0.${"1".repeat(400)}`,
  "NaN",
  "Infinity",
  "-Infinity",
  "0x10",
  "01",
  "+1",
  ".5",
  "1.",
];

const oddTexts: readonly string[] = [
  "",
  " ",
  "\u0000",
  "\u0001\u001f\u007f",
  "NaN",
  "null",
  "true",
  "1",
  "\ud800",
  "\udc00 tail",
  "head \ud83d",
  "\ufeff",
  "\ufffe\uffff",
  "e\u0301\u0302\u0303",
  "\u202eright to left",
  "👩‍👩‍👧‍👦🏴󠁧󠁢󠁥󠁮󠁧󠁿",
  "<|endoftext|>",
  "<|im_end|>",
  "<fim_prefix><fim_middle>",
  "</s><s>",
  "<0xE2>",
  "\u2581\u2581",
  "__proto__",
  "{prefix}{suffix}",
  "%s%n%x",
  "data: [DONE]\n\n",
  "\r\nx-injected: 1\r\n",
];

export const oddKeys: readonly string[] = [
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "__defineGetter__",
  "then",
  "length",
  "",
  "0",
  "-1",
  "1e3",
  "prompt ",
  "Prompt",
  "messages",
  "stream_options.include_usage",
  "\u0000",
  "\ud800",
  "ключ",
  "a\r\nb: c",
  "k".repeat(5000),
];

export function oddText(random: Random): string {
  if (random.chance(0.6)) return random.pick(oddTexts);
  if (random.chance(0.5)) return random.pick(oddTexts) + anyText(random, 8) + random.pick(oddTexts);
  return random
    .pick(["a", " ", "\n", "ab ", "é", "😀", "\u0301", "<|", "\\", '"', "0"])
    .repeat(random.between(1, 400));
}

/** Units of all planes, halves of pairs included. */
export function anyText(random: Random, lengthMax: number): string {
  const unit = () => {
    const range = random.integer(5);
    if (range < 2) return String.fromCodePoint(random.between(0x20, 0x7e));
    if (range === 2) return String.fromCodePoint(random.between(0xa0, 0x2fff));
    if (range === 3) return String.fromCodePoint(random.between(0x10000, 0x10ffff));
    return String.fromCharCode(random.integer(0x10000));
  };
  return random.list(random.integer(lengthMax + 1), unit).join("");
}

/** Any JSON value or near miss, mostly small. */
export function oddValue(random: Random, depth = 0): Loose {
  switch (random.integer(depth > 2 ? 5 : 9)) {
    case 0:
      return random.pick([null, true, false]);
    case 1:
      return new Raw(random.pick(oddNumbers));
    case 2:
      return oddText(random);
    case 3:
      return random.between(-3, 300);
    case 4:
      return random.fraction() * 300 - 100;
    case 5:
      return random.list(random.integer(5), () => oddValue(random, depth + 1));
    case 6:
      return new Pairs(
        random.list(random.integer(4), () => [random.pick(oddKeys), oddValue(random, depth + 1)]),
      );
    case 7:
      return nested(random);
    default:
      return giant(random);
  }
}

function nested(random: Random): Loose {
  const depth = random.chance(0.1) ? random.between(1000, 100_000) : random.between(2, 90);
  const [open, close] = random.pick([
    ["[", "]"],
    ['{"a":', "}"],
    ['[{"__proto__":', "}]"],
  ] as const);
  return new Raw(`${open.repeat(depth)}1${close.repeat(random.chance(0.9) ? depth : depth - 1)}`);
}

/** Tokenizers are slow in different ways on long runs of these. */
const giantUnits = ["a", "the ", "\n", "😀", "\u0301", " ", "1", "<|im_end|>", "</s>"];

function giant(random: Random): Loose {
  const size = random.chance(0.1) ? random.between(100_000, 600_000) : random.between(300, 6000);
  switch (random.integer(4)) {
    case 0:
      return random.pick(giantUnits).repeat(size);
    case 1:
      return new Raw(`[${"1,".repeat(size)}2]`);
    case 2:
      return new Raw(`[${'"x",'.repeat(size)}"y"]`);
    default:
      return new Pairs(random.list(Math.min(size, 3000), (index) => [String(index), 1]));
  }
}
