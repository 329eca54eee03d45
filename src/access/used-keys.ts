/** Keys that were used since it was last written down: once in a while is often enough. */
import type { Store } from "./store.ts";

/** Keys noted between two writes; further ones are noted when they are used again. */
const usedKeysMax = 10_000;

export class UsedKeys {
  readonly #store: Store;
  #ids = new Set<string>();

  constructor(store: Store) {
    this.#store = store;
  }

  add(id: string): void {
    if (this.#ids.size < usedKeysMax) this.#ids.add(id);
  }

  async write(): Promise<void> {
    if (this.#ids.size === 0) return;
    const ids = [...this.#ids];
    this.#ids = new Set();
    await this.#store.run("touchKeys", { ids });
  }
}
