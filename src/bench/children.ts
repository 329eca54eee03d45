/** Programs that the bench starts: none of them outlives it. */
import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";

const running = new Set<ChildProcess>();
let watching = false;

/** Kept of what a program prints, to explain its end. */
const outputCharactersMax = 8_000;
const stopMs = 10_000;

export interface Program {
  readonly process: ChildProcess;
  /** What it printed last, on both outputs. */
  output(): string;
  /** Resolves when it has ended. */
  readonly ended: Promise<void>;
  /** Asks it to end, and ends it when it does not. */
  stop(): Promise<void>;
}

export function keepChild(child: ChildProcess): void {
  if (!watching) {
    process.on("exit", killAll);
    watching = true;
  }
  running.add(child);
  child.once("close", () => running.delete(child));
}

export function startProgram(
  file: string,
  words: readonly string[],
  options: SpawnOptions = {},
): Program {
  const child = spawn(file, words, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  keepChild(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8");
    stream?.on("data", (text: string) => {
      output = (output + text).slice(-outputCharactersMax);
    });
  }
  const ended = new Promise<void>((resolve) => {
    child.once("error", (error) => {
      output += `${error.message}\n`;
      running.delete(child);
      resolve();
    });
    child.once("close", () => resolve());
  });
  return {
    process: child,
    output: () => output,
    ended,
    stop: async () => {
      child.kill("SIGTERM");
      const late = setTimeout(() => child.kill("SIGKILL"), stopMs);
      await ended;
      clearTimeout(late);
    },
  };
}

/** The last lines of an output, on one line. */
export function lastWords(output: string): string {
  return output.trim().split("\n").slice(-3).join(" / ").slice(-400);
}

function killAll(): void {
  for (const child of running) child.kill("SIGKILL");
}
