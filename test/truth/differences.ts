/** How far two lists of logprobs are apart. */

export interface Differences {
  readonly count: number;
  readonly mean: number;
  readonly percentile99: number;
  readonly largest: number;
}

/** Of pairs that are given one by one; a pair with a missing side is an error. */
export class DifferenceCounter {
  readonly #values: number[] = [];

  add(left: number | null | undefined, right: number | null | undefined): void {
    if (typeof left !== "number" || typeof right !== "number") {
      throw new Error(`cannot compare ${left} and ${right}`);
    }
    this.#values.push(Math.abs(left - right));
  }

  summary(): Differences {
    const sorted = this.#values.toSorted((left, right) => left - right);
    const count = sorted.length;
    return {
      count,
      mean: sorted.reduce((sum, value) => sum + value, 0) / count,
      percentile99: sorted[Math.floor(count * 0.99)] ?? Number.NaN,
      largest: sorted.at(-1) ?? Number.NaN,
    };
  }
}

/** A line for the test's output. */
export function describeDifferences(name: string, differences: Differences): string {
  const { count, mean, percentile99, largest } = differences;
  const text = (value: number) => value.toPrecision(3);
  return `${name}: ${count} tokens, mean ${text(mean)}, 99 % ${text(percentile99)}, largest ${text(largest)}`;
}
