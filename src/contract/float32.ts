/** Numbers of single precision as text: the fewest digits that read back as the same float32. */

/** Stands for logprobs that JSON cannot hold: no probability at all, or none computed. */
const smallestLogprob = -9999;

/** Digits that are enough for every float32. */
const digitsMax = 9;
/** Most float32 values need this many: the search starts here. */
const digitsUsual = 8;

/** Every whole number below this is a float32 of its own. */
const wholeBelow = 2 ** 24;
/** From here on, 10^places stays exact in a float64 for as many places as can be needed. */
const quickFrom = 1e-8;
const powersOfTen = Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`));

/**
 * A logprob as a JSON number. The value is rounded to float32 first, so that two ways of computing
 * the same logprob print the same digits; NaN and the infinities become -9999.
 */
export function printLogprob(logprob: number): string {
  const value = Math.fround(logprob);
  return Number.isFinite(value) ? printFloat32(value) : String(smallestLogprob);
}

/** Shortest text of a finite float32, in the form JSON.stringify would use. */
export function printFloat32(value: number): string {
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < wholeBelow) return String(value);
  if (size < quickFrom || size >= wholeBelow || isPowerOfTwo(value)) return searchUpwards(value);
  return String(value < 0 ? -shortestDecimal(size) : shortestDecimal(size));
}

/**
 * The decimal with the fewest places that reads back as the same float32: a few multiplications
 * instead of texts. More places never lose what fewer places hold, except next to a power of two.
 */
function shortestDecimal(size: number): number {
  let places = digitsUsual - 1 - Math.floor(Math.log10(size));
  let found = rounded(size, places);
  while (found === undefined) {
    places += 1;
    found = rounded(size, places);
  }
  for (;;) {
    places -= 1;
    const shorter = rounded(size, places);
    if (shorter === undefined) return found;
    found = shorter;
  }
}

/** The value with that many decimal places, if it still reads back as the same float32. */
function rounded(size: number, places: number): number | undefined {
  const scale = powersOfTen[places] ?? 1;
  // Both are exact integers below 2^53 or nearly so: the quotient is the float64 of the decimal.
  const candidate = Math.round(size * scale) / scale;
  return Math.fround(candidate) === size ? candidate : undefined;
}

/** Tries every length. The gap below a power of two is half the gap above it. */
function searchUpwards(value: number): string {
  for (let digits = 1; digits < digitsMax; digits += 1) {
    const candidate = Number(value.toPrecision(digits));
    if (Math.fround(candidate) === value) return String(candidate);
  }
  return String(Number(value.toPrecision(digitsMax)));
}

const bits = new DataView(new ArrayBuffer(4));

function isPowerOfTwo(value: number): boolean {
  bits.setFloat32(0, value);
  return (bits.getUint32(0) & 0x7fffff) === 0;
}
