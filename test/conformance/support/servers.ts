/**
 * The servers of the suite, each started by the first test that needs it and shared by all. They
 * are the command that users start, with one thread.
 */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tinyGgufFile } from "../../../src/llama/testing/tiny-gguf.ts";
import { type ServerProcess, startServer } from "../../support/server-process.ts";
import { Api } from "./api.ts";

export const apiKey = "sk-conformance-0123456789";

/** What the wide server reads for an insertion. */
export const insertionTemplate = (prefix: string, suffix: string): string =>
  `After "${suffix}" and <|im_start|> comes: ${prefix}`;

/** The only origin whose pages may call the strict server. */
export const namedOrigin = "https://page.example.org";

const options = {
  /** The default model. */
  standard: () => [],
  /** A byte-level vocabulary without a BOS; 512 tokens of context. */
  plain: () => ["--model", tinyGgufFile({ variant: "plain" })],
  /** The same with the wider limits profile and a template for insertions. */
  wide: () => [
    ...["--model", tinyGgufFile({ variant: "plain" }), "--limits", "extended"],
    ...["--insertion", insertionTemplate("{prefix}", "{suffix}")],
  ],
  /** The same model; unknown parameters refused, no insertion, a model must be named. */
  strict: () => [
    ...["--model", tinyGgufFile({ variant: "plain" })],
    ...["--strict", "--insertion", "off", "--body-limit", "64KB"],
    ...["--cors", namedOrigin],
    ...["--config", configurationFile("default-model: null\n")],
  ],
  /** The same model behind a key. */
  keyed: () => ["--model", tinyGgufFile({ variant: "plain" }), "--api-key", apiKey],
  /** A byte-level vocabulary with infill markers. */
  fim: () => ["--model", tinyGgufFile({ variant: "fim" })],
  /** SentencePiece pieces with byte tokens and a BOS in front. */
  bytes: () => ["--model", tinyGgufFile({ variant: "bytes" })],
} satisfies Record<string, () => string[]>;

/** The name of the model for servers that want one. */
export const modelName = "davinci-002";

function configurationFile(text: string): string {
  const path = join(mkdtempSync(join(tmpdir(), "conformance-")), "completionist.yaml");
  writeFileSync(path, text);
  return path;
}

export type ServerName = keyof typeof options;

/** The models of other vocabularies; each rule that speaks of tokens is tried on all of them. */
export const tinyServers = ["plain", "fim", "bytes"] as const satisfies readonly ServerName[];

const running = new Map<ServerName, Promise<ServerProcess>>();

export async function server(name: ServerName): Promise<Api> {
  const known = running.get(name) ?? startServer(["--threads", "1", ...options[name]()]);
  running.set(name, known);
  return new Api((await known).url);
}

/** Stops all of them; the exit codes. */
export async function stopServers(): Promise<(number | null)[]> {
  const started = await Promise.all(running.values());
  return Promise.all(started.map((process) => process.stop()));
}
