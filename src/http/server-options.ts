/** What a server can be told, with the defaults. Every limit of the HTTP side has its name here. */
import { type Limits, limitsProfiles } from "../contract/limits.ts";

export interface ServerOptions {
  readonly limits: Limits;
  /** Refuse unknown fields instead of ignoring them. */
  readonly strict: boolean;
  /** Keys of a server whose parts name no access: without any, everybody may use the models. */
  readonly apiKeys: readonly string[];
  /** The address the server is bound to: decides whether Host headers are checked. */
  readonly host: string;
  /** Host names, besides loopback ones, that a server without keys answers to. */
  readonly allowedHosts: readonly string[];
  /** Origins whose pages may call; none given: all when keys are in use, else loopback origins. */
  readonly cors: readonly string[] | "*" | undefined;
  /** A path in front of all routes, without a slash at its end; requests without it work too. */
  readonly basePath: string;
  /** GET /metrics: for those who may use the models, for everybody, or not there. */
  readonly metrics: "on" | "open" | "off";
  /** Writes prompts and completions to the log, cut to a bounded length. */
  readonly logPrompts: boolean;
  /** The version that the OpenAPI document names. */
  readonly version: string;
  readonly bodyBytesMax: number;
  /** Bodies of all requests that are not answered yet, together. */
  readonly heldBodyBytesMax: number;
  /** Connections open at once; further ones are closed without an answer. */
  readonly connectionsMax: number;
  /** Requests of one connection that are not answered yet; further ones get a 503. */
  readonly pipelinedRequestsMax: number;
  /** Longest time from a request's header to the end of its work. */
  readonly requestTimeMsMax: number;
  /** Silence in a stream after which a comment line keeps proxies from closing it. */
  readonly keepAliveCommentMs: number;
  /** How long a client may leave a full send buffer unread before its answer is cut. */
  readonly stalledClientMs: number;
  /** Time for a request's header, and for header and body together. */
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  /** How often these two times are looked at. */
  readonly timeoutCheckMs: number;
  /** How long a connection may stay open between two requests. */
  readonly idleConnectionMs: number;
}

export const defaultServerOptions: ServerOptions = {
  limits: limitsProfiles.openai,
  strict: false,
  apiKeys: [],
  host: "127.0.0.1",
  allowedHosts: [],
  cors: undefined,
  basePath: "",
  metrics: "on",
  logPrompts: false,
  version: "0.0.0",
  bodyBytesMax: 16 * 1024 * 1024,
  heldBodyBytesMax: 256 * 1024 * 1024,
  connectionsMax: 4096,
  pipelinedRequestsMax: 16,
  requestTimeMsMax: 600_000,
  keepAliveCommentMs: 15_000,
  stalledClientMs: 60_000,
  headersTimeoutMs: 20_000,
  requestTimeoutMs: 60_000,
  timeoutCheckMs: 5_000,
  // Longer than the idle time of common clients and proxies, so that they close first.
  idleConnectionMs: 75_000,
};

/** The part of a logger that the server uses; pino has it. */
export interface ServerLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
