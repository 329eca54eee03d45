/** Runs the commands of a guide as one shell session, against a server with a tiny model. */
import { spawn } from "node:child_process";
import { root } from "./pages.ts";

export interface ShellRun {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

export interface ShellPlace {
  /** Address of the server that stands for http://127.0.0.1:8080. */
  readonly url: string;
  readonly folder: string;
}

/** Every command must end well; `npx completionist` is the program of this checkout. */
export function runShell(code: string, { url, folder }: ShellPlace): Promise<ShellRun> {
  const lines = [
    "set -eo pipefail",
    `npx() { shift; "$NODE" "$ROOT/src/cli/main.ts" "$@"; }`,
    code.replaceAll("http://127.0.0.1:8080", url),
  ];
  const environment = { ...process.env, NODE: process.execPath, ROOT: root };
  const child = spawn("bash", ["-c", lines.join("\n")], {
    cwd: folder,
    env: { ...environment, COMPLETIONIST_DATA: folder },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  return new Promise((resolve) => {
    child.once("close", (exitCode) => resolve({ code: exitCode, output, errors }));
  });
}
