/** Random rows of logits, and the ranking that everything is compared with. */
import fc from "fast-check";

const finite = fc.oneof(
  fc.float({ min: -30, max: 30, noNaN: true }),
  fc.constantFrom(-2, 0, 0.5, 3),
);

/** Rows as a model gives them, with many equal values. */
export const finiteLogits = fc
  .oneof(
    fc.array(finite, { minLength: 1, maxLength: 60 }),
    fc.array(finite, { minLength: 100, maxLength: 300 }),
  )
  .map((values) => Float32Array.from(values));

/** Rows as a broken model gives them, too. */
export const anyLogits = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: finite },
      { weight: 1, arbitrary: fc.constantFrom(-Infinity, Number.NaN, -1e30) },
    ),
    { minLength: 1, maxLength: 60 },
  )
  .map((values) => Float32Array.from(values));

/** Ids from the largest logit down, equals by lower id; NaN is the same as -Infinity. */
export function rankedIds(logits: Float32Array): number[] {
  const rank = (id: number): number => {
    const logit = logits[id] ?? Number.NaN;
    return Number.isNaN(logit) ? -Infinity : logit;
  };
  const compare = (left: number, right: number): number => {
    if (rank(left) === rank(right)) return left - right;
    return rank(left) > rank(right) ? -1 : 1;
  };
  return [...logits.keys()].sort(compare);
}
