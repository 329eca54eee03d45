/**
 * Many operations, one commit: whatever waits when a transaction can begin goes into it, and is
 * answered when it is durable. An operation that fails takes nobody with it.
 */

export interface Transactions {
  begin(): void;
  commit(): void;
  rollback(): void;
}

export interface GroupedWrite {
  run(): Promise<unknown>;
  resolve(output: unknown): void;
  reject(error: unknown): void;
}

/** Operations of one transaction: it bounds what a failure makes run again. */
export const batchMax = 256;

/** An error after which trying the next operation alone would only wait as long again. */
export type IsHopeless = (error: unknown) => boolean;

export class GroupCommit {
  readonly #transactions: Transactions;
  readonly #isHopeless: IsHopeless;
  readonly #waiting: GroupedWrite[] = [];
  #working: Promise<void> | undefined;

  constructor(transactions: Transactions, isHopeless: IsHopeless) {
    this.#transactions = transactions;
    this.#isHopeless = isHopeless;
  }

  add(write: GroupedWrite): void {
    this.#waiting.push(write);
    this.#working ??= this.#work();
  }

  /** Resolves when nothing waits any more. */
  async idle(): Promise<void> {
    await this.#working;
  }

  async #work(): Promise<void> {
    while (this.#waiting.length > 0) {
      // A turn of the event loop: what arrived meanwhile joins the transaction.
      await new Promise((resolve) => setImmediate(resolve));
      await this.#runBatch(this.#waiting.splice(0, batchMax));
    }
    this.#working = undefined;
  }

  async #runBatch(batch: readonly GroupedWrite[]): Promise<void> {
    const failure = await this.#attempt(batch);
    if (failure === undefined) return;
    if (batch.length === 1 || this.#isHopeless(failure.error)) {
      for (const write of batch) write.reject(failure.error);
      return;
    }
    for (const [index, write] of batch.entries()) {
      const alone = await this.#attempt([write]);
      if (alone === undefined) continue;
      const { error } = alone;
      const rejected = this.#isHopeless(error) ? batch.slice(index) : [write];
      for (const each of rejected) each.reject(error);
      if (rejected.length > 1) return;
    }
  }

  /** Runs all in one transaction and answers all, or undoes all and gives the error. */
  async #attempt(batch: readonly GroupedWrite[]): Promise<{ readonly error: unknown } | undefined> {
    const outputs: unknown[] = [];
    try {
      this.#transactions.begin();
    } catch (error) {
      return { error };
    }
    try {
      for (const write of batch) outputs.push(await write.run());
      this.#transactions.commit();
    } catch (error) {
      this.#rollBack();
      return { error };
    }
    for (const [index, write] of batch.entries()) write.resolve(outputs[index]);
    return undefined;
  }

  #rollBack(): void {
    try {
      this.#transactions.rollback();
    } catch {
      // The database has undone it by itself, as it does when a disk is full.
    }
  }
}
