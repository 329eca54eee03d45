/** A server that is killed and started again on the same database, as often as a proof wants. */
import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";

const command = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

export interface ProofServerOptions {
  /** Options of `completionist serve`, `--data` among them. */
  readonly options: readonly string[];
  /** Options of Node itself, and what the process finds in its environment besides ours. */
  readonly nodeOptions?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** A tiny model that is started in a moment and works in one thread. */
export const tinyModelOptions: readonly string[] = [
  ...["--model", tinyGgufFile(), "--threads", "1", "--slots", "4", "--log-level", "error"],
];

export class ProofServer {
  readonly #options: ProofServerOptions;
  #child: ChildProcess | undefined;
  #exited: Promise<number | null> = Promise.resolve(null);
  #url: string | undefined;
  #output = "";

  constructor(options: ProofServerOptions) {
    this.#options = options;
  }

  /** `http://127.0.0.1:PORT` while it serves; another port after each start. */
  get url(): string | undefined {
    return this.#url;
  }

  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error("the server does not run");
    return pid;
  }

  /** The same as a `ServerProcess`, for those who look at its processes. */
  get process(): ChildProcess {
    if (this.#child === undefined) throw new Error("the server does not run");
    return this.#child;
  }

  /** What it printed since its last start. */
  output(): string {
    return this.#output;
  }

  /** Resolves with its address. Rejects when it ends before it has one. */
  start(): Promise<string> {
    const { options, nodeOptions = [], env = {} } = this.#options;
    const words = [...nodeOptions, command, "serve", "--port", "0", ...options];
    const child = spawn(process.execPath, words, {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...env },
    });
    this.#child = child;
    this.#output = "";
    this.#exited = new Promise((resolve) => {
      child.once("exit", (code) => {
        this.#url = undefined;
        resolve(code);
      });
    });
    return new Promise((resolve, reject) => {
      const read = (data: Buffer) => {
        // What a dead one still had to say comes after its end.
        if (child !== this.#child || child.killed || child.exitCode !== null) return;
        this.#output += data.toString();
        this.#url ??= /http:\/\/127\.0\.0\.1:\d+/.exec(this.#output)?.[0];
        if (this.#url !== undefined) resolve(this.#url);
      };
      child.stdout.on("data", read);
      child.stderr.on("data", read);
      child.once("exit", (code) => reject(new Error(`it ended with ${code}:\n${this.#output}`)));
    });
  }

  /** As if the machine had taken it: nothing is finished. Resolves when it is gone. */
  async kill(): Promise<void> {
    this.#url = undefined;
    this.#child?.kill("SIGKILL");
    await this.#exited;
  }

  /** Gives its exit code. */
  async stop(): Promise<number | null> {
    this.#child?.kill("SIGTERM");
    return this.#exited;
  }
}
