/** An ApiError out of what a server said, whatever shape it gave its error. */
import { ApiError } from "../contract/errors.ts";

export interface RemoteErrorSource {
  readonly status: number;
  /** As it came; an error need not be JSON. */
  readonly text: string;
  /** The `x-request-id` of the answer. */
  readonly requestId: string | undefined;
}

/** An error that the server at the other end answered with. */
export class RemoteApiError extends ApiError {
  /** What the server called the request, for its logs. */
  readonly requestId: string | undefined;

  constructor({ status, text, requestId }: RemoteErrorSource) {
    super({ status, ...readEnvelope(status, text) });
    this.requestId = requestId;
  }
}

/** An error frame has no status of its own: it is the server's failure. */
export const frameStatus = 500;

/** Whether the data of an event is an error frame. */
export function isErrorFrame(data: unknown): boolean {
  return typeof data === "object" && data !== null && "error" in data && Boolean(data.error);
}

/** Characters of a text that is no JSON, in a message. */
const shownCharactersMax = 500;

function readEnvelope(status: number, text: string) {
  const body = parseObject(text);
  // Some servers put the fields at the top, or a text where the object belongs.
  const inner = typeof body?.error === "object" && body.error !== null ? body.error : body;
  const fields = (inner ?? {}) as Readonly<Record<string, unknown>>;
  const said = [fields.message, body?.error, body?.detail].find(
    (value) => typeof value === "string" && value !== "",
  );
  const shown = text.trim().slice(0, shownCharactersMax);
  return {
    message: String(said ?? (shown || `the server answered ${status} and nothing else`)),
    type: textOf(fields.type) ?? (status >= 500 ? "server_error" : "invalid_request_error"),
    param: textOf(fields.param) ?? null,
    code: textOf(fields.code) ?? null,
  };
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/** Codes are numbers on some servers. */
function textOf(value: unknown): string | undefined {
  if (typeof value === "number") return String(value);
  return typeof value === "string" ? value : undefined;
}
