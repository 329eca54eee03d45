/**
 * Arguments of a tool call against its published schema, with mistakes in the API's own words. ajv
 * stops at the first one: with a long prompt, collecting all would make an object for every token.
 */
import { Ajv, type ErrorObject } from "ajv";
import { ApiError } from "../contract/errors.ts";
import { limitsProfiles } from "../contract/limits.ts";
import { parseCompletionRequest } from "../contract/parse-request.ts";
import { describeType, shorten } from "../contract/shorten.ts";
import { isObject, type JsonObject } from "./json.ts";

/** Throws an ApiError for arguments that the schema refuses. */
export type ArgumentCheck = (given: JsonObject) => void;

export function argumentCheck(schema: JsonObject): ArgumentCheck {
  const validate = new Ajv({ strict: false }).compile(schema);
  return (given) => {
    if (!validate(given)) throw mistake(validate.errors ?? [], given);
  };
}

/** Where the API refuses the request too, it says more precisely what would be right. */
export function completionCheck(schema: JsonObject): ArgumentCheck {
  const check = argumentCheck(schema);
  return (given) => {
    try {
      check(given);
    } catch (error) {
      const { body } = given;
      const options = { limits: limitsProfiles.openai, strict: false };
      if (isObject(body) && "prompt" in body) parseCompletionRequest(body, options);
      throw error;
    }
  };
}

function mistake(errors: readonly ErrorObject[], given: JsonObject): ApiError {
  // Of a choice of types every branch complains; the choice itself comes behind them.
  const choice = errors.find(({ keyword }) => keyword === "oneOf" || keyword === "anyOf");
  const error = choice ?? errors[0];
  const path = error?.instancePath.split("/").slice(1).map(unescapePointer) ?? [];
  const value = path.reduce<unknown>((inner, key) => (inner as JsonObject)?.[key], given);
  const param = paramName(path, given);
  const details = (error?.params ?? {}) as Readonly<Record<string, unknown>>;
  switch (error?.keyword) {
    case "required":
      return new ApiError("missingParameter", {
        param: paramName([...path, String(details.missingProperty)], given),
      });
    case "additionalProperties":
      return new ApiError("unrecognizedArgument", {
        plural: "",
        names: shorten(paramName([...path, String(details.additionalProperty)], given)),
      });
    case "type":
      return new ApiError("invalidType", {
        param,
        expected: [details.type].flat().join(" or "),
        received: describeType(value),
      });
    case "enum":
      return new ApiError("invalidValue", {
        param,
        reason: `expected one of ${JSON.stringify(details.allowedValues)}, got ${shorten(value)}`,
      });
    case "oneOf":
    case "anyOf":
      return new ApiError("invalidValue", {
        param,
        reason: `${isEmpty(value) ? "an empty array" : describeType(value)} is not accepted here`,
      });
    default:
      return new ApiError("invalidValue", { param, reason: `it ${error?.message ?? "is wrong"}` });
  }
}

const isEmpty = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

const unescapePointer = (part: string): string => part.replaceAll("~1", "/").replaceAll("~0", "~");

/** `stop[2]`, `logit_bias.7`: as the API names a field, so without the `body` that all are in. */
function paramName(path: readonly string[], given: JsonObject): string {
  let name = "";
  let parent: unknown = given;
  for (const part of path) {
    if (name === "body") name = "";
    if (Array.isArray(parent)) name += `[${part}]`;
    else name += name === "" ? part : `.${part}`;
    parent = (parent as JsonObject | undefined)?.[part];
  }
  return name === "" ? "arguments" : name;
}
