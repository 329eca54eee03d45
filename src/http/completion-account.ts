/**
 * What one completion may use and what it used: from its reservation to the row of the ledger,
 * which is written exactly once, however the completion ends.
 */
import type { Access, Outcome, Principal, Reservation, Settlement } from "../access/access.ts";
import type { CompletionPart, CompletionRun } from "../completion/completion-run.ts";
import { ApiError } from "../contract/errors.ts";
import { ClientLeft } from "./active-requests.ts";
import type { ServerLog } from "./server-options.ts";

export interface AccountOptions {
  readonly access: Access;
  readonly principal: Principal;
  readonly run: CompletionRun;
  /** The field `user` of the request. */
  readonly user: string | undefined;
  readonly requestId: string;
  readonly completionId: string;
  /** Id of the model that answers, no alias. */
  readonly model: string;
  /** When the request was seen, by `performance.now()`. */
  readonly seenMs: number;
  /** Ends the run: the key was revoked or expired. */
  readonly onRevoked: (reason: unknown) => void;
  readonly onSettled: (outcome: Outcome) => void;
  readonly log: ServerLog;
}

/** Throws the ApiError of a key that has no more left; nothing is to be settled then. */
export async function openAccount(options: AccountOptions): Promise<CompletionAccount> {
  const { access, principal, run, user, requestId, completionId, model } = options;
  const { promptTokens, completionTokensMax, candidates } = run;
  const reservation = await access.reserve({
    ...{ principal, user, requestId, completionId, model },
    ...{ promptTokens, completionTokensMax, candidates },
  });
  return new CompletionAccount(reservation, options);
}

export class CompletionAccount {
  readonly #reservation: Reservation;
  readonly #options: AccountOptions;
  readonly #revoke: () => void;
  #admittedMs: number | undefined;
  #firstTokenMs: number | undefined;
  #settled = false;

  constructor(reservation: Reservation, options: AccountOptions) {
    this.#reservation = reservation;
    this.#options = options;
    const { signal } = reservation;
    this.#revoke = () => options.onRevoked(signal.reason);
    if (signal.aborted) this.#revoke();
    else signal.addEventListener("abort", this.#revoke, { once: true });
  }

  /** For the answer: x-ratelimit-*. */
  get headers(): Readonly<Record<string, string>> {
    return this.#reservation.headers;
  }

  /** Sees each part of the run as it comes. */
  part(part: CompletionPart): void {
    if (part.kind === "admitted") this.#admittedMs ??= this.#elapsedMs();
    else if (part.usage.completion_tokens > 0) this.#firstTokenMs ??= this.#elapsedMs();
  }

  /** Resolves when the row is durable. Rejects with an ApiError when it cannot be written. */
  complete(): Promise<void> {
    return this.#settle({ outcome: "completed" });
  }

  /** After `complete()` it does nothing. Never rejects: the client is told of the first failure. */
  async fail(thrown: unknown, isCancelled = false): Promise<void> {
    if (this.#settled) return;
    const { signal } = this.#reservation;
    const isRevoked = signal.aborted && thrown === signal.reason;
    const left = thrown instanceof ClientLeft;
    const outcome = left || isRevoked || isCancelled ? "cancelled" : "failed";
    try {
      await this.#settle({ outcome, ...(left ? {} : { error: nameOf(thrown) }) });
    } catch (error) {
      const { requestId, log } = this.#options;
      log.error({ requestId, err: error }, "the use of a failed request was not recorded");
    }
  }

  async #settle(end: Pick<Settlement, "outcome" | "error">): Promise<void> {
    this.#settled = true;
    this.#reservation.signal.removeEventListener("abort", this.#revoke);
    const { prompt_tokens, completion_tokens, prompt_tokens_details } = this.#options.run.used();
    this.#options.onSettled(end.outcome);
    await this.#reservation.settle({
      ...end,
      promptTokens: prompt_tokens,
      cachedTokens: prompt_tokens_details.cached_tokens,
      completionTokens: completion_tokens,
      ...(this.#admittedMs === undefined ? {} : { admittedMs: this.#admittedMs }),
      ...(this.#firstTokenMs === undefined ? {} : { firstTokenMs: this.#firstTokenMs }),
      durationMs: this.#elapsedMs(),
    });
  }

  #elapsedMs(): number {
    return Math.round(performance.now() - this.#options.seenMs);
  }
}

/** Its row in the table of errors, or what another server called it. */
function nameOf(thrown: unknown): string {
  if (!(thrown instanceof ApiError)) return "server";
  return thrown.errorName ?? thrown.code ?? thrown.type;
}
