/** Names that strangers choose, as label values: the first few that look like names, then `other`. */

export const otherName = "other";

export class BoundedNames {
  readonly #known = new Set<string>();
  readonly #namesMax: number;

  constructor(namesMax: number) {
    this.#namesMax = namesMax;
  }

  /** The name itself while there is room for it, else `other`. */
  of(name: string): string {
    if (this.#known.has(name)) return name;
    if (this.#known.size >= this.#namesMax || !/^[a-zA-Z_][\w.-]{0,63}$/.test(name)) {
      return otherName;
    }
    this.#known.add(name);
    return name;
  }
}
