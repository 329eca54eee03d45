/**
 * Where a list of values is cut when only its largest are kept. Buckets by value find the place,
 * and the bucket that holds it is divided again, so nothing is ever sorted but a handful of values.
 */

/** Keeps what is above `value`, and of those equal to it the first `ties`. */
export interface Cut {
  readonly value: number;
  readonly ties: number;
}

const bucketCount = 1024;
/** Up to here a bucket is sorted instead of divided. */
const sortMax = 32;

const masses = new Float64Array(bucketCount);

/**
 * The cut that keeps the fewest values, largest first and earlier first among equals, that
 * together weigh at least `limit`. All values are finite; equal values weigh the same. Without
 * `weights` each weighs 1. When all together weigh less, all are kept.
 */
export function findCut(
  values: Float32Array,
  weights: Float64Array | undefined,
  size: number,
  limit: number,
): Cut {
  let [low, high] = range(values, size);
  let scope: Scope = { values, weights, size, low, high };
  let missing = limit;
  while (scope.size > sortMax && low < high) {
    const bucket = bucketOfLimit(scope, missing);
    if (bucket === undefined) return { value: low, ties: Number.POSITIVE_INFINITY };
    missing -= bucket.before;
    scope = members(scope, bucket.index);
    [low, high] = [scope.low, scope.high];
  }
  return cutSmall(scope, missing);
}

interface Scope {
  readonly values: Float32Array;
  readonly weights: Float64Array | undefined;
  readonly size: number;
  readonly low: number;
  readonly high: number;
}

function range(values: Float32Array, size: number): [low: number, high: number] {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (let index = 0; index < size; index += 1) {
    const value = values[index] as number;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}

/** Buckets are numbered from the largest value down. The lowest value falls on the last edge. */
function bucketsPerUnit({ low, high }: Scope): number {
  return (bucketCount - 0.5) / (high - low);
}

/** The bucket in which the running weight reaches the limit, and the weight before it. */
function bucketOfLimit(
  scope: Scope,
  limit: number,
): { readonly index: number; readonly before: number } | undefined {
  const { values, weights, size, high } = scope;
  const scale = bucketsPerUnit(scope);
  masses.fill(0);
  for (let index = 0; index < size; index += 1) {
    const bucket = ((high - (values[index] as number)) * scale) | 0;
    const weight = weights === undefined ? 1 : (weights[index] as number);
    masses[bucket] = (masses[bucket] as number) + weight;
  }
  let before = 0;
  for (let index = 0; index < bucketCount; index += 1) {
    const mass = masses[index] as number;
    if (mass > 0 && before + mass >= limit) return { index, before };
    before += mass;
  }
  return undefined;
}

/** The part of a scope that lies in one bucket, in the same order. */
function members(scope: Scope, bucket: number): Scope {
  const { values, weights, size, high } = scope;
  const scale = bucketsPerUnit(scope);
  const insideValues: number[] = [];
  const insideWeights: number[] = [];
  for (let index = 0; index < size; index += 1) {
    const value = values[index] as number;
    if ((((high - value) * scale) | 0) !== bucket) continue;
    insideValues.push(value);
    if (weights !== undefined) insideWeights.push(weights[index] as number);
  }
  const inside = Float32Array.from(insideValues);
  const [low, top] = range(inside, inside.length);
  return {
    values: inside,
    weights: weights === undefined ? undefined : Float64Array.from(insideWeights),
    size: inside.length,
    low,
    high: top,
  };
}

/** Walks a few values from the largest down, or any number of equal ones in their order. */
function cutSmall({ values, weights, size, low, high }: Scope, limit: number): Cut {
  const order = Uint32Array.from({ length: low < high ? size : 0 }, (_, index) => index);
  order.sort((left, right) => (values[right] as number) - (values[left] as number));
  let mass = 0;
  let ties = 0;
  let previous = Number.NaN;
  for (let rank = 0; rank < size; rank += 1) {
    const index = order[rank] ?? rank;
    const value = values[index] as number;
    ties = value === previous ? ties + 1 : 1;
    previous = value;
    mass += weights === undefined ? 1 : (weights[index] as number);
    if (mass >= limit) return { value, ties };
  }
  return { value: low, ties: Number.POSITIVE_INFINITY };
}
