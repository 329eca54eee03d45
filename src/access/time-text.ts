/** Times as people write them: a date, a time with its zone, or Unix seconds. */

const datePattern = /^\d{4}-\d{2}-\d{2}$/;
const timePattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/;
/** Later seconds would be beyond what a date can hold. */
const secondsPattern = /^\d{1,11}$/;

export const timeForms =
  "a date (2026-10-02), a time with its zone (2026-10-02T08:00:00Z) or Unix seconds";

/**
 * Unix milliseconds; undefined for anything else. A date is the beginning of its day in UTC, like
 * the days of the ledger.
 */
export function timeOf(text: string): number | undefined {
  if (secondsPattern.test(text)) return Number(text) * 1000;
  if (!datePattern.test(text) && !timePattern.test(text)) return undefined;
  const timeMs = Date.parse(text);
  return Number.isNaN(timeMs) || !isDay(text.slice(0, 10)) ? undefined : timeMs;
}

/** Dates that do not exist (February 30) would silently become others. */
function isDay(date: string): boolean {
  const ms = Date.parse(date);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(date);
}
