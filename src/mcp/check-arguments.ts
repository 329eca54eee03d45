/**
 * Arguments of a tool call against its published schema. ajv stops at the first mistake: with a
 * long prompt, collecting them all would make an object for every token.
 */
import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import { limitsProfiles } from "../contract/limits.ts";
import { parseCompletionRequest } from "../contract/parse-request.ts";
import { isObject, type JsonObject } from "./json.ts";
import { invalidArguments } from "./tool-error.ts";

/** Throws a ToolError or an ApiError for arguments that the schema refuses. */
export type ArgumentCheck = (given: JsonObject) => void;

export function argumentCheck(schema: JsonObject): ArgumentCheck {
  const validate = new Ajv({ strict: false }).compile(schema);
  return (given) => {
    if (!validate(given)) throw mistake(validate, given);
  };
}

/** The API's own words come first where it refuses the body too: they say what would be right. */
export function completionCheck(schema: JsonObject): ArgumentCheck {
  const validate = new Ajv({ strict: false }).compile(schema);
  return (given) => {
    if (validate(given)) return;
    const { body } = given;
    if (isObject(body))
      parseCompletionRequest(body, { limits: limitsProfiles.openai, strict: false });
    throw mistake(validate, given);
  };
}

function mistake(validate: ValidateFunction, given: JsonObject): Error {
  const [error] = relevant(validate.errors ?? []);
  if (error === undefined) return invalidArguments(null, "they do not match the input schema");
  const path = error.instancePath.split("/").slice(1).map(unescapePointer);
  return invalidArguments(paramName(path), reasonOf(error, given, path));
}

/** For a choice of types, what no branch took is told as the choice, which comes last. */
function relevant(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const choice = errors.find(({ keyword }) => keyword === "oneOf" || keyword === "anyOf");
  return choice === undefined ? errors : [choice];
}

function reasonOf(error: ErrorObject, given: JsonObject, path: readonly string[]): string {
  const params = error.params as Readonly<Record<string, unknown>>;
  switch (error.keyword) {
    case "required":
      return `'${String(params.missingProperty)}' is missing`;
    case "additionalProperties":
      return `there is no '${String(params.additionalProperty).slice(0, 100)}'`;
    case "enum":
      if (path.at(-1) === "stream") return "a tool call is never streamed; leave it out";
      return `it must be one of ${JSON.stringify(params.allowedValues)}`;
    case "oneOf":
    case "anyOf":
      return `${describe(valueAt(given, path))} of this kind is not accepted here`;
    default:
      return `it ${error.message ?? "does not match the input schema"}`;
  }
}

function describe(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return value.length === 0 ? "an empty array" : "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

const valueAt = (given: unknown, path: readonly string[]): unknown =>
  path.reduce((value, key) => (value as Readonly<Record<string, unknown>>)?.[key], given);

const unescapePointer = (part: string): string => part.replaceAll("~1", "/").replaceAll("~0", "~");

/** `body.stop[2]`; null for the arguments themselves. */
function paramName(path: readonly string[]): string | null {
  const [first, ...rest] = path;
  if (first === undefined) return null;
  return rest.reduce((name, part) => name + (/^\d+$/.test(part) ? `[${part}]` : `.${part}`), first);
}
