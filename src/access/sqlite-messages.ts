/** What the server's thread and the one of the database say to each other. */
import type { OperationName, StoreProblem } from "./store.ts";

export interface WorkerSettings {
  readonly file: string;
  readonly readOnly: boolean;
  readonly busyTimeoutMs: number;
}

export type ToWorker =
  | {
      readonly kind: "run";
      readonly id: number;
      readonly name: OperationName;
      readonly input: unknown;
      /** The time to go by; undefined: the clock's when the operation runs. */
      readonly nowMs: number | undefined;
    }
  | { readonly kind: "close" };

export type FromWorker =
  | { readonly kind: "ready" }
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "done"; readonly id: number; readonly output: unknown }
  | {
      readonly kind: "error";
      readonly id: number;
      readonly problem: StoreProblem;
      readonly message: string;
    };
