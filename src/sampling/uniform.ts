/**
 * The random numbers of sampling: each is a hash of what it belongs to, so that a draw depends on
 * no other draw, no neighbour and no order of work.
 */

/**
 * A number in [0, 1) with 53 random bits for one position of one candidate. `seed` is an integer
 * below 2^53, either sign.
 */
export function uniform(seed: number, candidate: number, position: number): number {
  const words = [
    seed >>> 0,
    Math.floor(seed / 0x1_0000_0000) >>> 0,
    candidate >>> 0,
    position >>> 0,
  ];
  let low = 0x243f6a88;
  let high = 0x85a308d3;
  for (const word of words) {
    low = scramble(low ^ word);
    high = scramble(high + Math.imul(low, 0x9e3779b1) + word);
  }
  low = scramble(low ^ high);
  high = scramble(high ^ Math.imul(low, 0x85ebca77));
  return ((high >>> 5) * 0x400_0000 + (low >>> 6)) / 2 ** 53;
}

/** A bijection of 32-bit words in which every input bit reaches every output bit. */
function scramble(word: number): number {
  let mixed = word | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x7feb352d);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x846ca68b);
  return mixed ^ (mixed >>> 16);
}
