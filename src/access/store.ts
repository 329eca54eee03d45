/** Where operations run: one at a time with others (SQLite), or each in its own transaction. */
import type { Kysely } from "kysely";
import type { Dialect } from "./dialects.ts";
import type { Operations } from "./operations/operations.ts";
import type { Tables } from "./tables.ts";

/** What an operation works with. */
export interface OperationContext {
  readonly db: Kysely<Tables>;
  readonly dialect: Dialect;
  /** Unix milliseconds. */
  nowMs(): Promise<number>;
}

/**
 * read: sees the last commit, waits for no write. write: in a transaction, answered when it is
 * durable. report: a read that may take long, and so keeps nobody else waiting.
 */
export type OperationMode = "read" | "write" | "report";

/**
 * One step on the database. Input and output cross threads: plain data. A refusal is an output; what
 * an operation throws is a fault. It may be run again when its transaction could not be committed.
 */
export interface Operation<Input, Output> {
  readonly mode: OperationMode;
  run(context: OperationContext, input: Input): Promise<Output>;
}

export type OperationName = keyof Operations;
export type InputOf<Name extends OperationName> = Parameters<Operations[Name]["run"]>[1];
export type OutputOf<Name extends OperationName> = Awaited<ReturnType<Operations[Name]["run"]>>;

/**
 * busy: too much is waiting already. unavailable: the database did not take it (gone, full, locked).
 * invalid: the database refused the data itself.
 */
export type StoreProblem = "busy" | "unavailable" | "invalid";

export class StoreError extends Error {
  readonly problem: StoreProblem;
  /** Whether it may have been done all the same: only the answer got lost. */
  readonly maybeDone: boolean;

  constructor(
    problem: StoreProblem,
    message: string,
    options: { cause?: unknown; maybeDone?: boolean } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = "StoreError";
    this.problem = problem;
    this.maybeDone = options.maybeDone ?? false;
  }
}

/** The sentence for people when a database cannot be opened. */
export class DatabaseError extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = "DatabaseError";
  }
}

/** Operations that may wait for the database; more than that are refused, but for settlements. */
export const pendingOperationsMax = 8192;

export interface StoreState {
  readonly pendingWrites: number;
  /** Age of the oldest write that waits; 0 without one. */
  readonly lagMs: number;
  /** Whether the last write went through. */
  readonly writable: boolean;
}

export interface Store {
  /** Rejects with a StoreError. */
  run<Name extends OperationName>(name: Name, input: InputOf<Name>): Promise<OutputOf<Name>>;
  state(): StoreState;
  /** Waits for what is pending. */
  close(): Promise<void>;
}
