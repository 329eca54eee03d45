/** Requests that run with a key: they are told when it is revoked or expires. */
import { ApiError } from "../contract/errors.ts";
import { invalidKeysMax } from "./operations/authenticate.ts";
import type { Store } from "./store.ts";

export class RunningRequests {
  readonly #store: Store;
  readonly #byKey = new Map<string, Set<AbortController>>();

  constructor(store: Store) {
    this.#store = store;
  }

  add(keyId: string, controller: AbortController): void {
    const controllers = this.#byKey.get(keyId) ?? new Set();
    controllers.add(controller);
    this.#byKey.set(keyId, controllers);
  }

  remove(keyId: string, controller: AbortController): void {
    const controllers = this.#byKey.get(keyId);
    controllers?.delete(controller);
    if (controllers?.size === 0) this.#byKey.delete(keyId);
  }

  /** Asks which keys hold no more, and aborts their requests; asks nothing while none runs. */
  async check(): Promise<void> {
    const ids = [...this.#byKey.keys()];
    for (let start = 0; start < ids.length; start += invalidKeysMax) {
      const part = ids.slice(start, start + invalidKeysMax);
      for (const { id, masked } of await this.#store.run("invalidKeys", { ids: part })) {
        const reason = new ApiError("wrongKey", { maskedKey: masked });
        for (const controller of this.#byKey.get(id) ?? []) controller.abort(reason);
      }
    }
  }
}
