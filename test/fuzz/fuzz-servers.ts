/** The servers that are fuzzed: tiny models of three kinds, each with other settings. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openKeyStore } from "../../src/access/key-store.ts";
import type { DatabaseSettings } from "../../src/access/location.ts";
import { type TinyVariant, tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";
import { type ServerProcess, startServer } from "../support/server-process.ts";

export interface FuzzTarget {
  readonly name: string;
  readonly variant: TinyVariant;
  readonly options: readonly string[];
  /** Whether a key is in use. */
  readonly keyed?: true;
}

/** A server with its own database. */
export interface FuzzedServer {
  readonly process: ServerProcess;
  /** Of the key that it asks for. */
  readonly secret: string | undefined;
  readonly settings: DatabaseSettings;
  stop(): Promise<void>;
}

/** A small body limit lets bodies beyond it be frequent and cheap. */
const common = ["--threads", "1", "--log-level", "error", "--body-limit", "1MB"];

export const fuzzTargets: readonly FuzzTarget[] = [
  { name: "plain", variant: "plain", options: [] },
  { name: "strict", variant: "fim", options: ["--strict"] },
  { name: "extended", variant: "bytes", options: ["--limits", "extended", "--slots", "3"] },
  { name: "keyed", variant: "plain", options: [], keyed: true },
];

export async function startTarget({ variant, options, keyed }: FuzzTarget): Promise<FuzzedServer> {
  const dataFolder = mkdtempSync(join(tmpdir(), "completionist-fuzz-data-"));
  const settings = { database: undefined, dataFolder };
  const secret = keyed === true ? await makeKey(settings) : undefined;
  const model = ["--model", tinyGgufFile({ variant })];
  const server = await startServer([...model, ...common, "--data", dataFolder, ...options]);
  return {
    ...{ process: server, secret, settings },
    stop: async () => {
      await server.stop();
      rmSync(dataFolder, { recursive: true, force: true });
    },
  };
}

/** It has limits, which are never reached: they take part. */
async function makeKey(settings: DatabaseSettings): Promise<string> {
  const keys = await openKeyStore(settings);
  const most = 100_000_000_000;
  const limits = { requestsPerMinute: most, tokensPerMinute: most, userTokensPerMonth: most };
  const { secret } = await keys.create({ name: "fuzz", limits });
  await keys.close();
  return secret;
}
