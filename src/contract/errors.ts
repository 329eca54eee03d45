/** The error that has a place in the API, made from a row of the table. */
import { type ErrorName, type ErrorTemplate, errorTable } from "./error-table.ts";
import type { ErrorBody } from "./responses.ts";

export { type ErrorName, type ErrorTemplate, errorTable };

export type ErrorDetails = Readonly<Record<string, string | number>>;

/** Headers that tell a client whether and when to try again. */
export interface RetryAdvice {
  readonly shouldRetry?: boolean;
  readonly retryAfterMs?: number;
}

/** An error that has a place in the API: thrown anywhere, written by http/ alone. */
export class ApiError extends Error {
  readonly errorName: ErrorName;
  readonly status: number;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
  readonly retry: RetryAdvice;

  constructor(
    name: ErrorName,
    details: ErrorDetails = {},
    options: { retry?: RetryAdvice; cause?: unknown } = {},
  ) {
    const template: ErrorTemplate = errorTable[name];
    super(fill(template.message, details), { cause: options.cause });
    this.name = "ApiError";
    this.errorName = name;
    this.status = template.status;
    this.type = fill(template.type, details);
    this.param = template.param === null ? null : fill(template.param, details);
    this.code = template.code;
    this.retry = options.retry ?? {};
  }

  body(): ErrorBody {
    const { message, type, param, code } = this;
    return { error: { message, type, param, code } };
  }
}

function fill(template: string, details: ErrorDetails): string {
  return template.replaceAll(/\{(\w+)\}/g, (_, key: string) => String(details[key] ?? ""));
}
