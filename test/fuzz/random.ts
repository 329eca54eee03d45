/** A seeded source of random choices: the same seed and case number give the same case. */

export class Random {
  #state: number;

  /** `stream` numbers independent sources of one seed. */
  constructor(seed: number, stream = 0) {
    this.#state = mix(mix(seed >>> 0) ^ (stream >>> 0));
  }

  /** At least 0, below 1. */
  fraction(): number {
    this.#state = (this.#state + 0x9e3779b9) >>> 0;
    return mix(this.#state) / 2 ** 32;
  }

  /** A whole number from 0 to `below` - 1. */
  integer(below: number): number {
    return Math.floor(this.fraction() * below);
  }

  /** A whole number from `min` to `max`. */
  between(min: number, max: number): number {
    return min + this.integer(max - min + 1);
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.integer(items.length)];
    if (item === undefined && items.length === 0) throw new RangeError("nothing to pick from");
    return item as T;
  }

  list<T>(length: number, make: (index: number) => T): T[] {
    return Array.from({ length }, (_, index) => make(index));
  }
}

/** Spreads 32 bits over all of them. */
function mix(value: number): number {
  let bits = value | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x21f0aaad);
  bits = Math.imul(bits ^ (bits >>> 15), 0x735a2d97);
  return (bits ^ (bits >>> 15)) >>> 0;
}
