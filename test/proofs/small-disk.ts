/** A disk that can be full: a small file system of its own, or a limit for the sizes of files. */
import { execFileSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, unlinkSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface SmallDisk {
  /** What the server is told: ENOSPC, as on a full disk, or EFBIG, as with `ulimit -f`. */
  readonly error: "ENOSPC" | "EFBIG";
  readonly folder: string;
  /** From now on nothing more can be written. */
  fill(serverPid: number): void;
  free(serverPid: number): void;
  remove(): void;
}

const run = (program: string, ...words: string[]) =>
  execFileSync(program, words, { stdio: "pipe" });

/** A file system of its own needs root; without it a limit is set on the process that runs. */
export function smallDisk(): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), "completionist-disk-"));
  try {
    run("mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", folder);
  } catch {
    return limitedFiles(folder);
  }
  const filler = join(folder, "filler");
  return {
    error: "ENOSPC",
    folder,
    fill: () => fillWith(filler),
    free: () => unlinkSync(filler),
    remove: () => {
      run("umount", "-l", folder);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function fillWith(file: string): void {
  const descriptor = openSync(file, "w");
  try {
    for (let bytes = 65_536; bytes > 0; ) {
      try {
        writeSync(descriptor, Buffer.alloc(bytes));
      } catch (error) {
        if ((error as { code?: string }).code !== "ENOSPC") throw error;
        bytes = Math.floor(bytes / 16);
      }
    }
  } finally {
    closeSync(descriptor);
  }
}

/** The smallest size with which the log in front of the database cannot grow. */
const fileBytesMax = 4096;

function limitedFiles(folder: string): SmallDisk {
  // The soft limit alone: it can be taken back by anybody.
  const limit = (pid: number, bytes: string) =>
    run("prlimit", "--pid", String(pid), `--fsize=${bytes}:`);
  return {
    error: "EFBIG",
    folder,
    fill: (pid) => limit(pid, String(fileBytesMax)),
    free: (pid) => limit(pid, "unlimited"),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
