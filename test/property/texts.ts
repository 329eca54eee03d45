/** Arbitrary prompts and requests for the live models. */
import fc from "fast-check";
import type { WireRequest } from "../support/wire.ts";

/** Fixed, so that each run of the tests sees the same; change both to look further. */
export const propertyOptions = {
  seed: Number(process.env.PROPERTY_SEED ?? 20_260_901),
  numRuns: Number(process.env.PROPERTY_RUNS ?? 25),
};

const fragment = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 8 }),
  // Half surrogates and all; the server is to make them well-formed.
  fc.string({ unit: "binary", maxLength: 6 }),
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 4 })
    .map((units) => String.fromCharCode(...units)),
  fc.constantFrom(
    "The river ",
    "e\u0301\u0302",
    "\u0301",
    "👩‍👩‍👧‍👦",
    "🏴󠁧󠁢󠁳󠁣󠁴󠁿",
    "\ufeff",
    "\u0000",
    "\r\n",
    "  ",
    "\t",
    "水",
    "العربية",
    "<0xE2>",
    "<|im_end|>",
    "</s>",
    "<note>",
    "bytes:\\xe2",
  ),
);

/** Up to a few dozen code points. Not empty, and not the text that stands for the document start. */
export const promptText: fc.Arbitrary<string> = fc
  .array(fragment, { minLength: 1, maxLength: 5 })
  .map((parts) => parts.join(""))
  .filter((text) => text !== "" && text !== "<|endoftext|>");

/** Any tokens in any order: halves of characters, special tokens, bytes that are no text. */
export const promptTokens = (vocabularySize: number): fc.Arbitrary<number[]> =>
  fc.array(fc.nat({ max: vocabularySize - 1 }), { minLength: 1, maxLength: 30 });

const stop = fc.oneof(
  fc.constantFrom("e", " ", "th", "\n", "an", " the", "\ufffd", "水", "the river", "<|im_end|>"),
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 2 }),
);

/** Everything that shapes an answer, with a seed, so that the same request has one answer. */
export const requestFields: fc.Arbitrary<WireRequest> = fc.record(
  {
    seed: fc.nat(),
    max_tokens: fc.integer({ min: 0, max: 20 }),
    n: fc.integer({ min: 1, max: 3 }),
    echo: fc.boolean(),
    logprobs: fc.constantFrom(null, 0, 2, 5),
    temperature: fc.constantFrom(0, 0.7, 1, 2),
    top_p: fc.constantFrom(1, 0.9, 0.2),
    frequency_penalty: fc.constantFrom(0, 1.5),
    stop: fc.array(stop, { maxLength: 4 }),
    ignore_eos: fc.boolean(),
    min_tokens: fc.constantFrom(0, 0, 0),
    include_stop_str_in_output: fc.boolean(),
    skip_special_tokens: fc.boolean(),
  },
  { requiredKeys: ["seed", "max_tokens"] },
);
