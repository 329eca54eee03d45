/** Access on a database: who asks, what they may use, and the ledger of what they used. */
import { timingSafeEqual } from "node:crypto";
import { ApiError } from "../contract/errors.ts";
import type {
  Access,
  AccessHealth,
  Demand,
  Principal,
  Reservation,
  UsageQuery,
  UsageRow,
} from "./access.ts";
import { bearerKey, maskKey } from "./bearer-key.ts";
import { configuredKeys, digestOf } from "./configured-keys.ts";
import { DatabaseReservation } from "./database-reservation.ts";
import type { Identity } from "./operations/authenticate.ts";
import { overloaded } from "./overloaded.ts";
import { rateHeaders, refusalError } from "./refusal-error.ts";
import { RunningRequests } from "./running-requests.ts";
import { SettlementBacklog } from "./settlement-backlog.ts";
import { type Store, StoreError } from "./store.ts";
import { storedText, storedUser } from "./stored-text.ts";
import { anybody } from "./unrecorded-access.ts";
import { UsedKeys } from "./used-keys.ts";

export interface DatabaseAccessOptions {
  readonly store: Store;
  /** Id of this server process. */
  readonly instance: string;
  readonly configuredKeys: readonly string[];
  /** Ends what runs beside; called first by `close`. */
  readonly stop: () => Promise<void>;
}

export class DatabaseAccess implements Access {
  readonly running: RunningRequests;
  readonly backlog: SettlementBacklog;
  readonly usedKeys: UsedKeys;
  readonly #options: DatabaseAccessOptions;
  readonly #configured: (key: string) => Principal | undefined;
  readonly #closing: { promise?: Promise<void> } = {};
  #keysStored = false;

  constructor(options: DatabaseAccessOptions) {
    this.#options = options;
    this.#configured = configuredKeys(options.configuredKeys);
    this.running = new RunningRequests(options.store);
    this.backlog = new SettlementBacklog(options.store);
    this.usedKeys = new UsedKeys(options.store);
  }

  get keysInUse(): boolean {
    return this.#keysStored || this.#options.configuredKeys.length > 0;
  }

  async authenticate(authorization: string | undefined): Promise<Principal> {
    const key = bearerKey(authorization);
    const configured = key === "" ? undefined : this.#configured(key);
    if (configured !== undefined) return configured;
    const digest = digestOf(key);
    const identity = await this.#identify(key === "" ? undefined : digest.toString("hex"));
    if (identity.kind === "open" && this.#options.configuredKeys.length === 0) return anybody;
    if (key === "") throw new ApiError("missingKey");
    if (identity.kind !== "key" || !isDigest(identity.secretHash, digest)) {
      throw new ApiError("wrongKey", { maskedKey: maskKey(key) });
    }
    const { id, name, models } = identity;
    this.usedKeys.add(id);
    return { keyId: id, name, owner: id, models };
  }

  /** Learns whether keys are in use; called once before the first request. */
  async refresh(): Promise<void> {
    await this.#identify(undefined);
  }

  async reserve(demand: Demand): Promise<Reservation> {
    const { principal, completionId, model } = demand;
    const { keyId, name } = principal;
    const sentMs = performance.now();
    const admitted = await this.#run(async (store) => {
      try {
        return await store.run("admit", {
          instance: this.#options.instance,
          keyId,
          keyName: storedText(name),
          endUser: storedUser(demand.user),
          requestId: storedText(demand.requestId),
          completionId,
          model: storedText(model),
          promptTokens: demand.promptTokens,
          completionTokensMax: demand.completionTokensMax,
          candidates: demand.candidates,
        });
      } catch (error) {
        this.#undo(demand, error);
        throw error;
      }
    });
    if (admitted.kind === "refused") {
      throw refusalError(admitted.refusal, model, admitted.rates);
    }
    if (admitted.kind === "invalidKey") {
      throw new ApiError("wrongKey", { maskedKey: admitted.masked });
    }
    return new DatabaseReservation({
      store: this.#options.store,
      backlog: this.backlog,
      running: this.running,
      headers: rateHeaders(admitted.rates),
      completionId,
      keyId,
      marks: admitted.marks,
      sentMs,
    });
  }

  async usage({ keyId, name }: Principal, query: UsageQuery): Promise<readonly UsageRow[]> {
    return this.#run((store) => store.run("sumUsage", { query, owner: { keyId, name } }));
  }

  health(): AccessHealth {
    const { pendingWrites, lagMs, writable } = this.#options.store.state();
    return {
      writable,
      lagMs: Math.max(lagMs, this.backlog.lagMs),
      pendingWrites: pendingWrites + this.backlog.size,
    };
  }

  close(): Promise<void> {
    this.#closing.promise ??= this.#options.stop();
    return this.#closing.promise;
  }

  async #identify(secretHash: string | undefined): Promise<Identity> {
    const identity = await this.#run((store) => store.run("identify", { secretHash }));
    this.#keysStored = identity.kind !== "open";
    return identity;
  }

  async #run<Output>(work: (store: Store) => Promise<Output>): Promise<Output> {
    try {
      return await work(this.#options.store);
    } catch (error) {
      const { problem } = error as Partial<StoreError>;
      throw problem === "busy" || problem === "unavailable" ? overloaded(error) : error;
    }
  }

  /** A row that may have been written although the answer got lost is closed again. */
  #undo({ completionId, principal }: Demand, error: unknown): void {
    if (!(error instanceof StoreError) || !error.maybeDone) return;
    this.backlog.keep({
      completionId,
      keyId: principal.keyId,
      settlement: {
        outcome: "failed",
        error: "overloaded",
        promptTokens: 0,
        cachedTokens: 0,
        completionTokens: 0,
        durationMs: 0,
      },
      marks: undefined,
      heldMs: 0,
    });
  }
}

function isDigest(hex: string, digest: Buffer): boolean {
  const stored = Buffer.from(hex, "hex");
  return stored.length === digest.length && timingSafeEqual(stored, digest);
}
