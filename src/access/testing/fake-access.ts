/** Access as tests want it: keys by name, every reservation and settlement kept. */
import { ApiError } from "../../contract/errors.ts";
import type {
  Access,
  AccessHealth,
  Demand,
  Principal,
  Settlement,
  UsageQuery,
  UsageRow,
} from "../access.ts";
import { bearerKey, maskKey } from "../bearer-key.ts";
import { anybody } from "../unrecorded-access.ts";

export interface FakeReservation {
  readonly demand: Demand;
  /** Of one that was settled well: one. */
  readonly settlements: Settlement[];
  /** Ends the request, as when its key is revoked. */
  revoke(reason: ApiError): void;
}

export class FakeAccess implements Access {
  readonly reservations: FakeReservation[] = [];
  readonly usageQueries: { readonly principal: Principal; readonly query: UsageQuery }[] = [];
  /** By the key that authenticates; without any, everybody may come. */
  readonly keys = new Map<string, Principal>();
  headers: Readonly<Record<string, string>> = {};
  rows: readonly UsageRow[] = [];
  state: AccessHealth = { writable: true, lagMs: 0, pendingWrites: 0 };
  /** Thrown instead of a reservation. */
  refusal: ApiError | undefined;
  /** Awaited by each settlement; what it rejects with, the settlement does. */
  settling: (settlement: Settlement) => Promise<void> = async () => {};
  closed = false;

  /** Adds a key; returns the header that carries it. */
  addKey(key: string, principal: Partial<Principal> = {}): { readonly authorization: string } {
    this.keys.set(key, { ...anybody, keyId: key, name: key, owner: key, ...principal });
    return { authorization: `Bearer ${key}` };
  }

  get keysInUse(): boolean {
    return this.keys.size > 0;
  }

  async authenticate(authorization: string | undefined): Promise<Principal> {
    if (!this.keysInUse) return anybody;
    const key = bearerKey(authorization);
    if (key === "") throw new ApiError("missingKey");
    const principal = this.keys.get(key);
    if (principal === undefined) throw new ApiError("wrongKey", { maskedKey: maskKey(key) });
    return principal;
  }

  async reserve(demand: Demand) {
    if (this.refusal !== undefined) throw this.refusal;
    const revoked = new AbortController();
    const settlements: Settlement[] = [];
    this.reservations.push({ demand, settlements, revoke: (reason) => revoked.abort(reason) });
    const settle = async (settlement: Settlement) => {
      settlements.push(settlement);
      await this.settling(settlement);
    };
    return { headers: this.headers, signal: revoked.signal, settle };
  }

  async usage(principal: Principal, query: UsageQuery): Promise<readonly UsageRow[]> {
    this.usageQueries.push({ principal, query });
    return this.rows;
  }

  health(): AccessHealth {
    return this.state;
  }

  async close(): Promise<void> {
    this.closed = true;
  }
}
