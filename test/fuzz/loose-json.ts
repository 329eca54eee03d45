/**
 * Values on their way into a body, including what JavaScript's own JSON cannot say: raw pieces of
 * text, doubled keys, keys such as `__proto__`.
 */

/** A piece of text that goes into the body as it is. */
export class Raw {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** An object as a list of pairs, in that order, doubled keys and all. */
export class Pairs {
  readonly entries: [key: string, value: Loose][];

  constructor(entries: [string, Loose][] = []) {
    this.entries = entries;
  }

  get(key: string): Loose | undefined {
    return this.entries.findLast(([name]) => name === key)?.[1];
  }

  set(key: string, value: Loose): void {
    const known = this.entries.find(([name]) => name === key);
    if (known === undefined) this.entries.push([key, value]);
    else known[1] = value;
  }
}

export type Loose = string | number | boolean | null | Raw | Pairs | Loose[];

export function writeLoose(value: Loose): string {
  if (value instanceof Raw) return value.text;
  if (Array.isArray(value)) return `[${value.map(writeLoose).join(",")}]`;
  if (value instanceof Pairs) {
    const members = value.entries.map(
      ([key, item]) => `${JSON.stringify(key)}:${writeLoose(item)}`,
    );
    return `{${members.join(",")}}`;
  }
  return JSON.stringify(value);
}
