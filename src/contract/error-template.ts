/** One row of the error table. */

export interface ErrorTemplate {
  readonly status: number;
  readonly type: string;
  /** A fixed field name, "{param}" when the detail `param` names it, or null. */
  readonly param: string | null;
  readonly code: string | null;
  readonly message: string;
}

/** A row of the type that most rows have. */
export const invalid = (
  status: number,
  param: string | null,
  code: string | null,
  message: string,
): ErrorTemplate => ({ status, type: "invalid_request_error", param, code, message });
