/** Numbers of single precision as text: the fewest digits that read back as the same float32. */

/** Stands for logprobs that JSON cannot hold: no probability at all, or none computed. */
const smallestLogprob = -9999;

/** Digits that are enough for every float32. */
const digitsMax = 9;
/** Most float32 values need this many: the search starts here. */
const digitsUsual = 8;

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
  if (Number.isInteger(value) && Math.abs(value) < 2 ** 24) return String(value);
  return isPowerOfTwo(value) ? searchUpwards(value) : searchAround(value);
}

/** More digits never lose what fewer digits hold, except next to a power of two. */
function searchAround(value: number): string {
  let digits = digitsUsual;
  let found = rounded(value, digits);
  if (found === undefined) return String(Number(value.toPrecision(digitsMax)));
  while (digits > 1) {
    digits -= 1;
    const shorter = rounded(value, digits);
    if (shorter === undefined) break;
    found = shorter;
  }
  return String(found);
}

/** The gap below a power of two is half the gap above, so every length has to be tried. */
function searchUpwards(value: number): string {
  for (let digits = 1; digits < digitsMax; digits += 1) {
    const found = rounded(value, digits);
    if (found !== undefined) return String(found);
  }
  return String(Number(value.toPrecision(digitsMax)));
}

/** The value at that many digits, if it still reads back as the same float32. */
function rounded(value: number, digits: number): number | undefined {
  const candidate = Number(value.toPrecision(digits));
  return Math.fround(candidate) === value ? candidate : undefined;
}

const bits = new DataView(new ArrayBuffer(4));

function isPowerOfTwo(value: number): boolean {
  bits.setFloat32(0, value);
  return (bits.getUint32(0) & 0x7fffff) === 0;
}
