/** Which failures are told in one line, and in what words. All others are ours: they show a stack. */
import { KeyError } from "../access/key-store.ts";
import { DatabaseError, StoreError } from "../access/store.ts";
import { BenchError } from "../bench/bench-error.ts";
import { ConfigurationError } from "../config/configuration-error.ts";
import { EngineSizeError } from "../llama/engine-size-error.ts";
import { ModelFileError } from "../llama/model-file-error.ts";
import { EngineStartError } from "../models/engine-start-error.ts";
import { FetchError } from "../models/fetch-error.ts";

/** Something that the user can put right. The message is one line; the exit code is not 0. */
export class UserError extends Error {
  override readonly name = "UserError";
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Exit code for a command line or a setting that cannot be understood. */
export const usageExitCode = 2;

export interface Failure {
  readonly text: string;
  readonly exitCode: number;
}

const toldInOneLine = [
  DatabaseError,
  KeyError,
  FetchError,
  ModelFileError,
  EngineStartError,
  EngineSizeError,
];

/** What to print, without a line break at its end, and the exit code. */
export function describeFailure(error: unknown): Failure {
  if (error instanceof UserError) return { text: oneLine(error.message), exitCode: error.exitCode };
  if (error instanceof ConfigurationError) {
    return { text: oneLine(error.message), exitCode: usageExitCode };
  }
  if (error instanceof BenchError) {
    return { text: oneLine(error.message), exitCode: error.kind === "usage" ? usageExitCode : 1 };
  }
  if (error instanceof StoreError) {
    return { text: oneLine(`the database failed: ${error.message}`), exitCode: 1 };
  }
  if (toldInOneLine.some((kind) => error instanceof kind)) {
    return { text: oneLine((error as Error).message), exitCode: 1 };
  }
  if (error instanceof Error) return { text: error.stack ?? error.message, exitCode: 70 };
  return { text: String(error), exitCode: 70 };
}

function oneLine(text: string): string {
  return text.trim().replace(/\s*\n\s*/g, " ");
}

/** Says why an address cannot be listened on, as a UserError; other errors stay as they are. */
export function listenProblem(error: unknown, host: string, port: number): unknown {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  if (code === "EADDRINUSE") {
    return new UserError(
      `port ${port} on ${host} is in use by another program; choose another with --port`,
    );
  }
  if (code === "EACCES") {
    return new UserError(`listening on port ${port} of ${host} is not permitted for this user`);
  }
  if (code === "EADDRNOTAVAIL") {
    return new UserError(`this machine has no address ${host}; choose another with --host`);
  }
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") {
    return new UserError(`the host name ${host} cannot be resolved; choose another with --host`);
  }
  if (code === "EINVAL" || code === "EAFNOSUPPORT") {
    return new UserError(`${host} cannot be listened on (${code}); choose another with --host`);
  }
  return error;
}
