/** What tests of access share: a clock to set, servers on one database, requests to make. */
import { onTestFinished } from "vitest";
import { ApiError } from "../../contract/errors.ts";
import type { Access, Demand, Principal, Settlement } from "../access.ts";
import { type KeyStore, type KeyWithSecret, type NewKey, openKeyStore } from "../key-store.ts";
import { type Ledger, type LedgerRow, openLedger } from "../ledger.ts";
import { type DatabaseSettings, locateDatabase } from "../location.ts";
import { type AccessOptions, openAccess } from "../open-access.ts";
import { openStore } from "../open-store.ts";
import type { Store } from "../store.ts";

/** A Monday in the middle of a month. */
export const startMs = Date.UTC(2026, 5, 15, 12);

export class AccessBench {
  readonly settings: DatabaseSettings;
  readonly clock = { ms: startMs };
  readonly logged: string[] = [];
  #completions = 0;

  constructor(settings: DatabaseSettings) {
    this.settings = settings;
  }

  /** A server on the database; closed when the test ends. */
  async server(options: Partial<AccessOptions> = {}): Promise<Access> {
    const line = (_fields: object, text: string) => this.logged.push(text);
    const access = await openAccess({
      ...this.settings,
      configuredKeys: [],
      keepUsageDays: undefined,
      log: { info: line, warn: line, error: line } as unknown as AccessOptions["log"],
      nowMs: () => this.clock.ms,
      graceMs: 0,
      // Nothing runs beside, unless a test wants it.
      times: { ...idle, ...options.times },
      ...withoutTimes(options),
    });
    onTestFinished(() => access.close());
    return access;
  }

  async keys(): Promise<KeyStore> {
    const keys = await openKeyStore(this.settings);
    onTestFinished(() => keys.close());
    return keys;
  }

  /** A key with these limits, made as the command line makes it. */
  async newKey(options: Partial<NewKey> = {}): Promise<KeyWithSecret> {
    const keys = await openKeyStore(this.settings);
    try {
      return await keys.create({ name: "app", ...options });
    } finally {
      await keys.close();
    }
  }

  async ledger(): Promise<Ledger> {
    const ledger = await openLedger(this.settings);
    onTestFinished(() => ledger.close());
    return ledger;
  }

  async rows(): Promise<readonly LedgerRow[]> {
    const ledger = await openLedger(this.settings);
    try {
      return await Array.fromAsync(ledger.rows());
    } finally {
      await ledger.close();
    }
  }

  async store(): Promise<Store> {
    const store = await openStore(locateDatabase(this.settings), { nowMs: () => this.clock.ms });
    onTestFinished(() => store.close());
    return store;
  }

  demand(principal: Principal, parts: Partial<Demand> = {}): Demand {
    this.#completions += 1;
    return {
      principal,
      user: undefined,
      requestId: `req_${this.#completions}`,
      completionId: `cmpl-${process.pid}-${this.#completions}`,
      model: "tiny",
      promptTokens: 10,
      completionTokensMax: 90,
      candidates: 1,
      ...parts,
    };
  }
}

/** The longest that a timer takes. */
const never = 2 ** 31 - 1;
const idle = {
  keysMs: never,
  usedKeysMs: never,
  backlogMs: never,
  lostMs: never,
  oldRowsMs: never,
};

function withoutTimes({ times: _, ...options }: Partial<AccessOptions>): Partial<AccessOptions> {
  return options;
}

export function settlement(parts: Partial<Settlement> = {}): Settlement {
  return {
    outcome: "completed",
    promptTokens: 10,
    cachedTokens: 0,
    completionTokens: 20,
    durationMs: 5,
    ...parts,
  };
}

export const bearer = ({ secret }: KeyWithSecret): string => `Bearer ${secret}`;

/** What the promise was rejected with; fails when it was not. */
export async function refusal(promise: Promise<unknown>) {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ApiError)) throw new Error("It was not refused.", { cause: error });
  return { name: error.errorName, message: error.message, type: error.type, retry: error.retry };
}
