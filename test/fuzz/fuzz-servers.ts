/** The servers that are fuzzed: tiny models of three kinds, each with other settings. */
import { type TinyVariant, tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";
import { type ServerProcess, startServer } from "../support/server-process.ts";

export interface FuzzTarget {
  readonly variant: TinyVariant;
  readonly options: readonly string[];
}

/** A small body limit lets bodies beyond it be frequent and cheap. */
const common = ["--threads", "1", "--log-level", "error", "--body-limit", "1MB"];

export const fuzzTargets: readonly FuzzTarget[] = [
  { variant: "plain", options: [] },
  { variant: "fim", options: ["--strict"] },
  { variant: "bytes", options: ["--limits", "extended", "--slots", "3"] },
];

export function startTarget({ variant, options }: FuzzTarget): Promise<ServerProcess> {
  return startServer(["--model", tinyGgufFile({ variant }), ...common, ...options]);
}
