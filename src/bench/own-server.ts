/** This server as its users start it: the command in a process of its own, on a free port. */
import { childEntry } from "../llama/child-entry.ts";
import type { OwnArm } from "./arms.ts";
import { BenchError } from "./bench-error.ts";
import { lastWords, startProgram } from "./children.ts";
import { getText } from "./client.ts";
import type { Shape } from "./sizes.ts";
import { pause, type Target } from "./target.ts";

export interface OwnServerOptions {
  /** Words for `--model`: a file, or `NAME=FILE`. */
  readonly models: readonly string[];
  readonly cache: string;
  /** An empty folder: no configuration file of the user is found there, and no data are mixed. */
  readonly folder: string;
  readonly signal: AbortSignal;
  /** Further words of the command line. */
  readonly more?: readonly string[];
}

const startMsMax = 300_000;
const variablePrefix = "COMPLETIONIST_";

export async function startOwnServer(
  arm: OwnArm,
  shape: Shape,
  options: OwnServerOptions,
): Promise<Target> {
  const { numerics, threads } = arm;
  const words = [
    ...[childEntry("../cli/main", import.meta.url), "serve", "--port", "0"],
    ...options.models.flatMap((model) => ["--model", model]),
    ...["--cache", options.cache, "--data", options.folder],
    ...["--slots", String(shape.slots), "--context", String(shape.context)],
    ...["--numerics", numerics, "--log-level", "warn"],
    ...(threads === undefined ? [] : ["--threads", String(threads)]),
    ...(options.more ?? []),
  ];
  const environment = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith(variablePrefix)),
  );
  const program = startProgram(process.execPath, words, { cwd: options.folder, env: environment });
  const deadlineMs = performance.now() + startMsMax;
  let url: string | undefined;
  while (url === undefined) {
    url = /http:\/\/127\.0\.0\.1:\d+/.exec(program.output())?.[0];
    if (url !== undefined) break;
    if (program.process.exitCode !== null || performance.now() > deadlineMs) {
      await program.stop();
      throw new BenchError("failed", `the server did not start: ${lastWords(program.output())}`);
    }
    await pause(50, options.signal, program);
  }
  const address = url;
  return {
    kind: "own",
    url: address,
    pid: program.process.pid ?? 0,
    isIdle: async (signal) => {
      const health = JSON.parse((await getText(`${address}/health`, signal)) ?? "{}") as {
        readonly queued?: number;
        readonly running?: number;
      };
      return (health.queued ?? 0) === 0 && (health.running ?? 0) === 0;
    },
    stop: () => program.stop(),
  };
}
