/** Text of a client inside a message: kept short, so that an error never repeats a whole body. */

const shownCharactersMax = 100;

/** At most 100 code points of the value, with "..." where something was cut. Well-formed. */
export function shorten(value: unknown): string {
  const text = typeof value === "string" ? value : textOf(value);
  // A code point takes at most two units, so the slice holds all that can be shown.
  const points = [...text.slice(0, 2 * shownCharactersMax + 2).toWellFormed()];
  if (points.length <= shownCharactersMax) return points.join("");
  return `${points.slice(0, shownCharactersMax).join("")}...`;
}

/** JSON, but whole numbers always in digits: clients search messages for them. */
function textOf(value: unknown): string {
  if (Number.isInteger(value)) return String(BigInt(value as number));
  return JSON.stringify(value) ?? String(value);
}

/** What a JSON value is, as a noun with its article. */
export function describeType(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  switch (typeof value) {
    case "string":
      return "a string";
    case "boolean":
      return "a boolean";
    case "number":
      if (!Number.isFinite(value)) return "a number that is too large";
      return Number.isInteger(value) ? "an integer" : "a decimal number";
    case "undefined":
      return "nothing";
    default:
      return "an object";
  }
}
