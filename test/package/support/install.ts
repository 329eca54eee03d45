/** Packs the project and installs the tarball into an empty folder, as a user would. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { lockFor } from "./lock-file.ts";

export const root = resolve(import.meta.dirname, "..", "..", "..");

export interface Outcome {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

export interface InstalledServer {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** A project that depends on the package. Commands run in its folder. */
export interface Consumer {
  readonly packageFolder: string;
  /** Paths in the tarball. */
  readonly files: readonly string[];
  readonly packedBytes: number;
  write(name: string, text: string): void;
  run(command: string, words: readonly string[]): Promise<Outcome>;
  typeCheck(file: string, options: readonly string[]): Promise<Outcome>;
  serve(options: readonly string[]): Promise<InstalledServer>;
  remove(): void;
}

/** Folders with the project's own commands are not on a user's path. */
const outerPath = (process.env.PATH ?? "")
  .split(delimiter)
  .filter((folder) => !folder.split(/[\\/]/).includes("node_modules"));

/** The Node that runs the tests, as if it were the machine's. What npm set for us is not for others. */
function userEnvironment(): Record<string, string | undefined> {
  const own =
    /^(npm_(package|lifecycle|config_local_prefix|command|execpath|node)|INIT_CWD$|NODE_(OPTIONS|PATH|ENV)$)/;
  const kept = Object.entries(process.env).filter(([name]) => !own.test(name));
  const path = [dirname(process.execPath), ...outerPath].join(delimiter);
  return { ...Object.fromEntries(kept), PATH: path };
}

/** A Node on the machine that is too old for the program. */
export function oldNode(): string | undefined {
  return outerPath
    .map((folder) => join(folder, "node"))
    .filter(existsSync)
    .find((node) => {
      const { stdout } = spawnSync(node, ["--version"], { encoding: "utf8" });
      return Number(/^v(\d+)\./.exec(stdout)?.[1] ?? 99) < 24;
    });
}

interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly integrity: string;
  readonly files: readonly { readonly path: string }[];
}

/** Builds, packs and installs. Throws with the output of what failed. */
export async function installPackage(): Promise<Consumer> {
  const folder = mkdtempSync(join(tmpdir(), "completionist-package-"));
  try {
    await must(spawnIn(root, process.execPath, [join(root, "scripts", "build.ts")]));
    const packed = await pack(folder);
    writeFileSync(
      join(folder, "package.json"),
      JSON.stringify(projectFor(packed.filename), undefined, 2),
    );
    writeFileSync(
      join(folder, "package-lock.json"),
      JSON.stringify(lockFor(root, packed), undefined, 2),
    );
    // A cache that once installed the project is all that is needed.
    const install = ["ci", "--prefer-offline", "--no-audit", "--no-fund"];
    await must(spawnIn(folder, "npm", install));
    return consumerIn(folder, packed);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

const projectFor = (tarball: string) => ({
  name: "consumer",
  private: true,
  type: "module",
  dependencies: { completionist: `file:${tarball}` },
});

async function pack(folder: string): Promise<Packed> {
  const words = ["pack", "--ignore-scripts", "--json", "--pack-destination", folder];
  const { output } = await must(spawnIn(root, "npm", words));
  // A list of packages, or an object with one for each name, depending on the version of npm.
  const packed = Object.values(JSON.parse(output) as object)[0] as Packed;
  if (!existsSync(join(folder, packed.filename))) throw new Error(`no ${packed.filename}`);
  return packed;
}

function consumerIn(folder: string, packed: Packed): Consumer {
  const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
  // Types of Node, for programs that have them.
  mkdirSync(join(folder, "node_modules", "@types"), { recursive: true });
  for (const name of ["@types/node", "undici-types"]) {
    symlinkSync(join(root, "node_modules", name), join(folder, "node_modules", name));
  }
  const strict = [
    "--noEmit",
    "--strict",
    "--exactOptionalPropertyTypes",
    "--noUncheckedIndexedAccess",
    ...["--skipLibCheck", "false"],
    ...["--module", "nodenext"],
    ...["--target", "es2024"],
  ];
  return {
    packageFolder: join(folder, "node_modules", "completionist"),
    files: packed.files.map(({ path }) => path),
    packedBytes: packed.size,
    write: (name, text) => writeFileSync(join(folder, name), text),
    run: (command, words) => outcomeOf(spawnIn(folder, command, words)),
    typeCheck: (file, options) => {
      const types = options.includes("--types") ? [] : ["--types", ""];
      const words = [compiler, ...strict, ...types, ...options, file];
      return outcomeOf(spawnIn(folder, process.execPath, words));
    },
    serve: (options) => serveIn(folder, options),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** In a process group of its own, so that npx and what it starts can be ended together. */
async function serveIn(folder: string, options: readonly string[]): Promise<InstalledServer> {
  const words = [
    "completionist",
    "serve",
    "--port",
    "0",
    "--data",
    join(folder, "data"),
    ...options,
  ];
  const child = spawnIn(folder, "npx", words, true);
  const ended = outcomeOf(child);
  const url = await new Promise<string>((found, failed) => {
    let output = "";
    child.stdout?.on("data", (data) => {
      output += data;
      const address = /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0];
      if (address !== undefined) found(address);
    });
    ended.then((outcome) => failed(new Error(JSON.stringify(outcome))), failed);
  });
  const pid = child.pid as number;
  return {
    url,
    pid,
    stop: async () => {
      process.kill(-pid, "SIGTERM");
      await ended;
    },
  };
}

function spawnIn(
  folder: string,
  command: string,
  words: readonly string[],
  detached = false,
): ChildProcess {
  return spawn(command, words, {
    cwd: folder,
    env: userEnvironment(),
    stdio: ["ignore", "pipe", "pipe"],
    detached,
  });
}

async function outcomeOf(child: ChildProcess): Promise<Outcome> {
  let output = "";
  let errors = "";
  child.stdout?.on("data", (data) => {
    output += data;
  });
  child.stderr?.on("data", (data) => {
    errors += data;
  });
  const code = await new Promise<number | null>((settle, failed) => {
    child.once("error", failed);
    child.once("close", settle);
  });
  return { code, output, errors };
}

async function must(child: ChildProcess): Promise<Outcome> {
  const outcome = await outcomeOf(child);
  if (outcome.code === 0) return outcome;
  const { output, errors } = outcome;
  throw new Error(`${child.spawnargs.join(" ")} ended with ${outcome.code}:\n${output}${errors}`);
}
