/**
 * Python clients in environments of their own: made once per list of requirements in the machine's
 * temporary folder, so that a second run finds them there.
 */
import { execFile, spawnSync } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const folder = join(import.meta.dirname, "..", "python");
const outputBytesMax = 16 * 2 ** 20;

/** Why no Python client can run on this machine; undefined when one can. */
export function pythonProblem(): string | undefined {
  const pip = spawnSync("python3", ["-m", "pip", "--version"], { encoding: "utf8" });
  if (pip.error !== undefined) return "there is no python3 on this machine";
  return pip.status === 0 ? undefined : "the python3 of this machine has no pip";
}

/** The answer of a script, which prints one JSON object. `name` is `legacy` or `current`. */
export async function runPythonClient(
  name: "legacy" | "current",
  scriptArguments: readonly string[],
): Promise<unknown> {
  const python = await environment(join(folder, `${name}-requirements.txt`));
  const script = join(folder, `${name}_client.py`);
  const { stdout } = await run(python, [script, ...scriptArguments], {
    maxBuffer: outputBytesMax,
    // No proxy of the machine between a client and a server on the same machine.
    env: { ...process.env, NO_PROXY: "127.0.0.1", no_proxy: "127.0.0.1" },
  });
  return JSON.parse(stdout) as unknown;
}

/** The python of an environment that has what a file of requirements lists. */
async function environment(requirements: string): Promise<string> {
  const { stdout: version } = await run("python3", ["--version"]);
  const hash = createHash("sha256").update(readFileSync(requirements)).update(version);
  const id = hash.digest("hex").slice(0, 16);
  const ready = join(tmpdir(), `completionist-python-${id}`);
  const inside = process.platform === "win32" ? ["Scripts", "python.exe"] : ["bin", "python"];
  const python = join(ready, ...inside);
  if (existsSync(python)) return python;
  const unfinished = `${ready}.${randomUUID()}.part`;
  // The machine's own pip fills it: some systems ship no pip to put inside.
  await run("python3", ["-m", "venv", "--without-pip", unfinished]);
  const printFolder = "import sysconfig; print(sysconfig.get_path('purelib'))";
  const { stdout: packages } = await run(join(unfinished, ...inside), ["-c", printFolder]);
  const pip = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-compile"];
  const wheels = ["--only-binary", ":all:"];
  await run("python3", [...pip, ...wheels, "--target", packages.trim(), "-r", requirements]);
  try {
    renameSync(unfinished, ready);
  } catch (error) {
    // Another run has made the same one meanwhile.
    rmSync(unfinished, { recursive: true, force: true });
    if (!existsSync(python)) throw error;
  }
  return python;
}
