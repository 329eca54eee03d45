/** Parses bodies for tests, and tells how a body was refused. */
import { ApiError } from "../errors.ts";
import { limitsProfiles } from "../limits.ts";
import { type ParseOptions, parseCompletionRequest } from "../parse-request.ts";

export const lenient: ParseOptions = { limits: limitsProfiles.openai, strict: false };
export const strict: ParseOptions = { limits: limitsProfiles.openai, strict: true };
export const extended: ParseOptions = { limits: limitsProfiles.extended, strict: false };

export const parse = (body: unknown, options = lenient) => parseCompletionRequest(body, options);

/** The error with which the body is refused. Fails when it is accepted. */
export function refusal(body: unknown, options = lenient): ApiError {
  try {
    parse(body, options);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error("the body was accepted");
}
