/** The error of a database that takes nothing now. */
import { ApiError } from "../contract/errors.ts";

/** What a client is told to wait. */
const retryAfterMs = 1000;

export function overloaded(cause: unknown): ApiError {
  return new ApiError("overloaded", {}, { retry: { shouldRetry: true, retryAfterMs }, cause });
}
