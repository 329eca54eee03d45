/** Where the answers of the tools come from: an engine of our own, or a server elsewhere. */
import type { Principal } from "../access/access.ts";
import type { JsonObject } from "./json.ts";
import type { Progress } from "./progress.ts";

export interface Call {
  /** Its reason is thrown by whatever it interrupts. */
  readonly signal: AbortSignal;
  readonly progress: Progress;
  /** Whose call it is. */
  readonly principal: Principal;
}

export interface CompletionSource {
  /** Answers a completions request as POST /v1/completions does, never streamed. */
  complete(body: JsonObject, call: Call): Promise<JsonObject>;
  /** The answer of GET /v1/models. */
  listModels(call: Pick<Call, "signal" | "principal">): Promise<JsonObject>;
  /** Whether prompts leave this program for a server elsewhere. */
  readonly isRemote: boolean;
  close(): Promise<void>;
}
