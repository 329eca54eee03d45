/** The words of the bench: from texts of the command line to what is to be done. */
import { BenchError } from "./bench-error.ts";

/** As they were given; undefined where they were not. */
export interface BenchWords {
  readonly rows?: string | undefined;
  readonly rounds?: string | undefined;
  readonly requests?: string | undefined;
  readonly json?: string | undefined;
  readonly svg?: string | undefined;
  readonly resume?: boolean | undefined;
  /** A path; false for `--no-peer`. */
  readonly peer?: string | boolean | undefined;
  readonly installPeer?: boolean | undefined;
  readonly model?: string | undefined;
  readonly quick?: boolean | undefined;
}

export interface BenchOptions {
  /** undefined: all but those that take long. */
  readonly rows: readonly string[] | undefined;
  readonly rounds: number;
  readonly requests: number;
  readonly json: string | undefined;
  readonly svg: string | undefined;
  /** Leaves out rows that the JSON file already has. */
  readonly resume: boolean;
  readonly peer: "none" | { readonly path: string | undefined; readonly install: boolean };
  /** undefined: the default model. */
  readonly model: string | undefined;
  readonly quick: boolean;
}

const roundsDefault = 3;
const roundsMax = 100;
const requestsDefault = 10_000;
const requestsMax = 10_000_000;

/** Throws a BenchError that names the option. */
export function readBenchOptions(words: BenchWords): BenchOptions {
  const quick = words.quick === true;
  const rounds = readCount("rounds", words.rounds, roundsMax) ?? (quick ? 1 : roundsDefault);
  const requests = readCount("requests", words.requests, requestsMax);
  const { json, resume } = words;
  if (resume === true && json === undefined) {
    throw new BenchError("usage", "--resume needs --json, the file with the rows so far");
  }
  return {
    rows: readRows(words.rows),
    rounds,
    requests: requests ?? (quick ? 20 : requestsDefault),
    json,
    svg: words.svg,
    resume: resume === true,
    peer: readPeer(words),
    model: words.model,
    quick,
  };
}

function readPeer({ peer, installPeer }: BenchWords): BenchOptions["peer"] {
  const path = typeof peer === "string" ? peer : undefined;
  const install = installPeer === true;
  if (install && peer !== undefined && peer !== true) {
    throw new BenchError("usage", "--install-peer brings a peer: give no --peer and no --no-peer");
  }
  return peer === false ? "none" : { path, install };
}

function readRows(text: string | undefined): readonly string[] | undefined {
  if (text === undefined) return undefined;
  const names = text.split(",").map((name) => name.trim());
  if (names.some((name) => name === "")) {
    throw new BenchError("usage", `--rows: expected names with commas between them, got "${text}"`);
  }
  return names;
}

function readCount(name: string, text: string | undefined, max: number): number | undefined {
  if (text === undefined) return undefined;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= max) return value;
  throw new BenchError(
    "usage",
    `--${name}: expected a whole number from 1 to ${max}, got "${text}"`,
  );
}
