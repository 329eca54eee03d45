/**
 * Counts and offsets in Unicode code points, the unit of `text_offset`. JavaScript strings count
 * UTF-16 code units, so everything above U+FFFF is two units and one code point.
 */

/** Code points of a text, as `[...text].length` gives them; a lone surrogate counts as one. */
export function countCodePoints(text: string): number {
  let count = 0;
  for (let index = 0; index < text.length; index += 1) {
    if (isPairAt(text, index)) index += 1;
    count += 1;
  }
  return count;
}

function isPairAt(text: string, index: number): boolean {
  return isHighSurrogate(text.charCodeAt(index)) && isLowSurrogate(text.charCodeAt(index + 1));
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000;
}
