/** Random token streams and stop strings for property tests. */
import fc from "fast-check";

const encoder = new TextEncoder();

/** Text that stop strings often match, with characters of one to four bytes. */
export const likelyText = fc.string({
  unit: fc.constantFrom("a", "b", "\n", "é", "€", "😀", "e\u0301", "\ufeff", "\ufffd"),
  maxLength: 12,
});

const anyText = fc.oneof(
  likelyText,
  fc.string({ unit: "grapheme", maxLength: 6 }),
  fc.string({ unit: "binary", maxLength: 6 }).map((text) => text.toWellFormed()),
);

const loneBytes = fc.array(
  fc.constantFrom(0x80, 0xbf, 0xc0, 0xc2, 0xe0, 0xe2, 0xed, 0xa0, 0xf0, 0x9f, 0xf4, 0x90, 0xff),
  { maxLength: 4 },
);

/** Bytes of model output: mostly characters, sometimes anything. */
export const outputBytes: fc.Arbitrary<Uint8Array> = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: anyText.map((text) => [...encoder.encode(text)]) },
      { weight: 1, arbitrary: loneBytes },
    ),
    { maxLength: 6 },
  )
  .map((parts) => Uint8Array.from(parts.flat()));

/** The same bytes as tokens: cut anywhere, with tokens without bytes in between. */
export const outputTokens: fc.Arbitrary<Uint8Array[]> = fc
  .tuple(outputBytes, fc.array(fc.nat(), { maxLength: 12 }))
  .map(([bytes, seeds]) => {
    const cuts = seeds.map((seed) => seed % (bytes.length + 1)).sort((a, b) => a - b);
    const edges = [0, ...cuts, bytes.length];
    return edges.slice(1).map((edge, place) => bytes.subarray(edges[place] ?? 0, edge));
  });

export const stopStrings: fc.Arbitrary<string[]> = fc.array(
  fc.oneof(
    likelyText.filter((text) => text !== "").map((text) => text.slice(0, 4)),
    fc.constantFrom("a", "a\n", "ab", "aab", "€", "\n\n", "😀a"),
  ),
  { maxLength: 5 },
);

export function concatenate(tokens: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(tokens.flatMap((token) => [...token]));
}

/** What a decoder makes of all bytes at once. */
export function decodeWhole(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

/** The earliest and longest stop string by plain search, in UTF-16 units. */
export function searchPlainly(
  text: string,
  stops: readonly string[],
  from = 0,
): { start: number; end: number } | undefined {
  const matches = stops
    .filter((stop) => stop !== "" && stop.isWellFormed())
    .map((stop) => ({ start: text.indexOf(stop, from), length: stop.length }))
    .filter(({ start }) => start !== -1)
    .sort((left, right) => left.start - right.start || right.length - left.length);
  const [best] = matches;
  return best && { start: best.start, end: best.start + best.length };
}
