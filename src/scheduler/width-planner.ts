/**
 * In how many calls a step of several sequences is cheapest. Kernels for one row and for several
 * differ, so that two sequences together may cost more than one after the other. What a call of
 * each width costs is measured when the model is loaded: while it runs, a busy neighbour would make
 * the width in use look dear. In split caches the bits are the same either way.
 */

/** Widths of the calls that step so many sequences. */
export type Partition = (count: number) => readonly number[];

export class WidthPlanner {
  readonly #widthMax: number;
  /** Milliseconds of a call by its width, where measured; index 0 is unused. */
  readonly #costsMs: (number | undefined)[];
  /** Cheapest partition of each number of sequences; emptied when a cost changes. */
  #plans: (readonly number[])[] = [];

  constructor(widthMax: number) {
    if (widthMax < 1) throw new RangeError(`a call takes at least one sequence: ${widthMax}`);
    this.#widthMax = widthMax;
    this.#costsMs = new Array<number | undefined>(widthMax + 1).fill(undefined);
  }

  /** The fastest of several measurements counts: disturbance only ever makes one slower. */
  record(width: number, elapsedMs: number): void {
    if (width < 1 || width > this.#widthMax) return;
    this.#costsMs[width] = Math.min(this.#costsMs[width] ?? elapsedMs, elapsedMs);
    this.#plans = [];
  }

  /** What was measured: widths, each with the least milliseconds. */
  measured(): readonly (readonly [width: number, costMs: number])[] {
    return [...this.#costsMs.entries()].filter(
      (entry): entry is [number, number] => entry[1] !== undefined,
    );
  }

  /** Widths of the calls that step `count` sequences, widest first. */
  partition(count: number): readonly number[] {
    if (count === 0) return [];
    if (this.#plans.length === 0) this.#plans = this.#planAll(this.#widthMax);
    const full = Math.max(0, Math.ceil(count / this.#widthMax) - 1);
    const rest = count - full * this.#widthMax;
    const widest = this.#plans[this.#widthMax] ?? [];
    return [...Array.from({ length: full }, () => widest).flat(), ...(this.#plans[rest] ?? [])];
  }

  /** Cost of a width: measured, else on the line between its measured neighbours. */
  costMs(width: number): number | undefined {
    const own = this.#costsMs[width];
    if (own !== undefined) return own;
    const below = this.#nearest(width, -1);
    const above = this.#nearest(width, 1);
    if (below === undefined) return above === undefined ? undefined : this.#costsMs[above];
    const lower = this.#costsMs[below] as number;
    if (above === undefined) return (lower * width) / below;
    const slope = ((this.#costsMs[above] as number) - lower) / (above - below);
    return lower + slope * (width - below);
  }

  #nearest(width: number, direction: 1 | -1): number | undefined {
    for (let other = width + direction; other >= 1 && other <= this.#widthMax; other += direction) {
      if (this.#costsMs[other] !== undefined) return other;
    }
    return undefined;
  }

  /** Cheapest first call for each count, by the cheapest of what remains. */
  #planAll(countMax: number): (readonly number[])[] {
    const totalsMs = [0];
    const plans: (readonly number[])[] = [[]];
    for (let count = 1; count <= countMax; count++) {
      // Unmeasured, all together: the wider call wins a tie, too.
      let bestMs = Number.POSITIVE_INFINITY;
      let best: readonly number[] = [count];
      for (let width = count; width >= 1; width--) {
        const costMs = this.costMs(width);
        if (costMs === undefined) break;
        const totalMs = costMs + (totalsMs[count - width] as number);
        if (totalMs >= bestMs) continue;
        bestMs = totalMs;
        best = [width, ...(plans[count - width] as readonly number[])];
      }
      totalsMs.push(bestMs);
      plans.push(best);
    }
    return plans;
  }
}
