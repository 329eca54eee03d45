/** One request that was let in, until its row is closed. */
import type { Reservation, Settlement } from "./access.ts";
import type { TokenMark } from "./operations/admit.ts";
import type { SettleInput } from "./operations/settle.ts";
import { overloaded } from "./overloaded.ts";
import type { RunningRequests } from "./running-requests.ts";
import type { SettlementBacklog } from "./settlement-backlog.ts";
import { type Store, StoreError } from "./store.ts";
import { storedText } from "./stored-text.ts";

export interface ReservationParts {
  readonly store: Store;
  readonly backlog: SettlementBacklog;
  readonly running: RunningRequests;
  readonly headers: Readonly<Record<string, string>>;
  readonly completionId: string;
  readonly keyId: string | undefined;
  readonly marks: readonly TokenMark[];
  /** On the clock of `performance`, when the request asked to be let in. */
  readonly sentMs: number;
}

export class DatabaseReservation implements Reservation {
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly #parts: ReservationParts;
  readonly #controller = new AbortController();
  #settled: Promise<void> | undefined;

  constructor(parts: ReservationParts) {
    this.#parts = parts;
    this.headers = parts.headers;
    this.signal = this.#controller.signal;
    if (parts.keyId !== undefined) parts.running.add(parts.keyId, this.#controller);
  }

  settle(settlement: Settlement): Promise<void> {
    this.#settled ??= this.#settle(settlement);
    return this.#settled;
  }

  async #settle(given: Settlement): Promise<void> {
    const { store, backlog, running, completionId, keyId, marks, sentMs } = this.#parts;
    if (keyId !== undefined) running.remove(keyId, this.#controller);
    const settlement =
      given.error === undefined ? given : { ...given, error: storedText(given.error) };
    const heldMs = Math.ceil(performance.now() - sentMs);
    const input: SettleInput = { completionId, keyId, settlement, marks, heldMs };
    try {
      await store.run("settle", input);
    } catch (error) {
      if (!(error instanceof StoreError) || error.problem === "invalid") throw error;
      backlog.keep(input);
      throw overloaded(error);
    }
  }
}
