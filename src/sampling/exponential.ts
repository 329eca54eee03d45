/**
 * The exponential function for arguments that are not positive, as sums over a vocabulary need it:
 * about twice as fast as Math.exp, relative error below 1e-14 (a test compares them).
 */

/** Below this the function is not defined: e^-40 adds nothing to a sum in which e^0 stands. */
export const exponentMin = -40;

const stepsPerOctave = 2048;
const stepsPerUnit = stepsPerOctave / Math.LN2;
const unitsPerStep = Math.LN2 / stepsPerOctave;
const stepMask = stepsPerOctave - 1;
const octaveShift = Math.log2(stepsPerOctave);

/** 2 to the power of -step / stepsPerOctave. */
const steps = Float64Array.from(
  { length: stepsPerOctave },
  (_, step) => 2 ** (-step / stepsPerOctave),
);
/** 2 to the power of -octave; 40 / ln 2 is below 58. */
const octaves = Float64Array.from({ length: 64 }, (_, octave) => 2 ** -octave);

/** e to the power of x, for x from `exponentMin` to 0: a table for most of it, a cubic for the rest. */
export function exponential(x: number): number {
  const scaled = x * -stepsPerUnit;
  const step = scaled | 0;
  const rest = (step - scaled) * unitsPerStep;
  const whole = (octaves[step >> octaveShift] as number) * (steps[step & stepMask] as number);
  return whole * (1 + rest * (1 + rest * (0.5 + rest * (1 / 6))));
}
