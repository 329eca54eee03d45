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
  /** The row of the table; undefined for an error that another server sent. */
  readonly errorName: ErrorName | undefined;
  readonly status: number;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
  readonly retry: RetryAdvice;
  /** Further headers of its answer. */
  readonly headers: Readonly<Record<string, string>>;

  /** Made from a row and the details that its texts name, or from what another server said. */
  constructor(
    row: ErrorName | ErrorTemplate,
    details: ErrorDetails = {},
    options: {
      readonly retry?: RetryAdvice;
      readonly headers?: Readonly<Record<string, string>>;
      readonly cause?: unknown;
    } = {},
  ) {
    const { status, type, param, code, message } =
      typeof row === "string" ? filled(errorTable[row], details) : row;
    super(message, { cause: options.cause });
    this.name = "ApiError";
    this.errorName = typeof row === "string" ? row : undefined;
    this.status = status;
    this.type = type;
    this.param = param;
    this.code = code;
    this.retry = options.retry ?? {};
    this.headers = options.headers ?? {};
  }

  body(): ErrorBody {
    const { message, type, param, code } = this;
    return { error: { message, type, param, code } };
  }
}

function filled(template: ErrorTemplate, details: ErrorDetails): ErrorTemplate {
  return {
    ...template,
    message: fill(template.message, details),
    type: fill(template.type, details),
    param: template.param === null ? null : fill(template.param, details),
  };
}

function fill(template: string, details: ErrorDetails): string {
  return template.replaceAll(/\{(\w+)\}/g, (_, key: string) => String(details[key] ?? ""));
}
