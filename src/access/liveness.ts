/**
 * How a server process proves that it lives: it holds a lock that the operating system or the
 * database takes away when the process ends, however it ends.
 */

export interface Liveness {
  /** The id of this process, unique for ever. */
  readonly instance: string;
  /** Which of the processes are dead for sure. Rejects when that cannot be found out. */
  deadOf(instances: readonly string[]): Promise<readonly string[]>;
  /** Says that a process was cleaned up after. */
  forget(instance: string): Promise<void>;
  /** Lets go of the lock. */
  close(): Promise<void>;
}
