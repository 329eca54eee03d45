/** A zod issue as a row of the error table, in OpenAI's newer wording for fields. */
import type { z } from "zod";
import { ApiError, type ErrorName } from "./errors.ts";
import { type Limits, limitHint } from "./limits.ts";
import { describeType, shorten } from "./shorten.ts";

type Issue = z.core.$ZodIssue;

/** Types that JSON does not tell apart and the schema does. */
const ownTypes: ReadonlySet<string> = new Set(["an integer", "a decimal"]);

const expectedTypes: Readonly<Record<string, string>> = {
  string: "a string",
  boolean: "a boolean",
  object: "an object",
  record: "an object",
  array: "an array",
};

/** The error for the first issue of a body that did not pass the schema. */
export function fieldError(issue: Issue, body: unknown, limits: Limits): ApiError {
  if (issue.code === "invalid_union") return unionError(issue, body, limits);
  const param = paramName(issue.path);
  const value = valueAt(body, issue.path);
  if (issue.code === "too_big" || issue.code === "too_small") {
    return rangeError(issue, param, value, limits);
  }
  if (ownTypes.has(issue.message)) return typeError(param, issue.message, value);
  if (issue.code === "invalid_type") {
    return typeError(param, expectedTypes[issue.expected] ?? issue.expected, value);
  }
  return new ApiError("invalidValue", { param, reason: "this value is not accepted" });
}

/** The field has another JSON type than it should. */
export function typeError(param: string, expected: string, value: unknown): ApiError {
  return new ApiError("invalidType", { param, expected, received: describeType(value) });
}

function rangeError(
  issue: z.core.$ZodIssueTooBig | z.core.$ZodIssueTooSmall,
  param: string,
  value: unknown,
  limits: Limits,
): ApiError {
  const limit = issue.code === "too_big" ? issue.maximum : issue.minimum;
  return new ApiError(issue.message as ErrorName, {
    param,
    limit: String(limit),
    received: Array.isArray(value) ? value.length : receivedNumber(issue.message, value),
    hint: limitHint(param, limits),
  });
}

/** OpenAI's wording shows a whole number in a decimal field as `99.0`. */
function receivedNumber(error: string, value: unknown): string {
  const text = shorten(value);
  return error.startsWith("decimal") && /^-?\d+$/.test(text) ? `${text}.0` : text;
}

/** Reports the branch that has the value's own type, or says that no branch has it. */
function unionError(issue: z.core.$ZodIssueInvalidUnion, body: unknown, limits: Limits): ApiError {
  for (const branch of issue.errors) {
    const inner = branch[0];
    if (inner !== undefined && inner.path.length > 0) {
      return fieldError({ ...inner, path: [...issue.path, ...inner.path] }, body, limits);
    }
  }
  const value = valueAt(body, issue.path);
  return typeError(paramName(issue.path), "a string or an array of strings", value);
}

/** `stop[2]`, `stream_options.include_usage`. */
function paramName(path: readonly PropertyKey[]): string {
  return path
    .map((part, index) =>
      typeof part === "number" ? `[${part}]` : index === 0 ? String(part) : `.${String(part)}`,
    )
    .join("");
}

function valueAt(body: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === "object" && value !== null
        ? (value as Record<PropertyKey, unknown>)[key]
        : undefined,
    body,
  );
}
