/** The sides that are measured: this server in its modes, llama-server in its ways, and bare loops. */
import type { NumericsMode } from "../llama/numerics.ts";

export interface OwnArm {
  readonly kind: "own";
  readonly name: string;
  readonly numerics: NumericsMode;
  /** undefined: what the server takes by itself. */
  readonly threads?: number;
}

export interface PeerArm {
  readonly kind: "peer";
  readonly name: string;
  /** One thread and small batches, instead of its own defaults. */
  readonly tuned: boolean;
  /** Whether it is given the default model as it was fetched. */
  readonly fetched: boolean;
}

export interface BareArm {
  readonly kind: "bare";
  readonly name: string;
  readonly numerics: NumericsMode;
  readonly threads: number;
}

export type Arm = OwnArm | PeerArm | BareArm;

export const arms = {
  fast: { kind: "own", name: "fast", numerics: "fast" },
  reproducible: { kind: "own", name: "reproducible (default)", numerics: "reproducible" },
  exact: { kind: "own", name: "exact", numerics: "exact" },
  "fast-1": { kind: "own", name: "fast, 1 thread", numerics: "fast", threads: 1 },
  "reproducible-1": {
    kind: "own",
    name: "reproducible, 1 thread",
    numerics: "reproducible",
    threads: 1,
  },
  "reproducible-2": {
    kind: "own",
    name: "reproducible, 2 threads",
    numerics: "reproducible",
    threads: 2,
  },
  "bare-fast": { kind: "bare", name: "bare loop, fast, 1 thread", numerics: "fast", threads: 1 },
  "bare-reproducible": {
    kind: "bare",
    name: "bare loop, reproducible, 1 thread",
    numerics: "reproducible",
    threads: 1,
  },
  peer: { kind: "peer", name: "llama-server", tuned: false, fetched: false },
  "peer-tuned": { kind: "peer", name: "llama-server, tuned", tuned: true, fetched: false },
  "peer-fetched": {
    kind: "peer",
    name: "llama-server on the file as fetched",
    tuned: false,
    fetched: true,
  },
} as const satisfies Record<string, Arm>;

export type ArmId = keyof typeof arms;

export function armOf(id: ArmId): Arm {
  return arms[id];
}

/** What the tuned peer is told besides. */
export const tunedOptions: readonly string[] = ["-t", "1", "-tb", "1", "-b", "128", "-ub", "128"];
