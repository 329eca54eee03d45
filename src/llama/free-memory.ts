/** Memory that a new process can have: of the machine, and of the container if that is less. */
import { readFileSync } from "node:fs";
import { freemem, totalmem } from "node:os";
import { join } from "node:path";

/** Where the kernel tells; another folder in tests. */
export interface MemoryFiles {
  /** Default `/proc`. */
  readonly proc?: string;
  /** Default `/sys/fs/cgroup`. */
  readonly cgroup?: string;
}

/** Limits at or above are the kernel's way of saying that there is none. */
const unlimitedBytes = 2 ** 60;
/** Systems that do not tell what they can give back have about this share of all memory free. */
const guessedShare = 0.6;

/** Bytes. Pages of files count as free: the kernel gives them back when they are needed. */
export function freeMemoryBytes({ proc = "/proc", cgroup = "/sys/fs/cgroup" }: MemoryFiles = {}) {
  const machine = availableBytes(proc) ?? Math.max(freemem(), guessedShare * totalmem());
  return Math.max(0, Math.min(machine, ...groupBytes(proc, cgroup)));
}

function availableBytes(proc: string): number | undefined {
  const kilobytes = /^MemAvailable:\s+(\d+) kB/m.exec(textOf(join(proc, "meminfo")) ?? "")?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
}

/** What is left of the limit of each control group around this process, of both versions. */
function groupBytes(proc: string, cgroup: string): number[] {
  const lines = (textOf(join(proc, "self/cgroup")) ?? "").split("\n");
  const left: number[] = [];
  for (const line of lines) {
    const [number, controllers = "", path = "/"] = line.split(":");
    if (number === "0" && controllers === "") {
      const names = ["memory.max", "memory.current", "inactive_file"] as const;
      left.push(...leftAlong(cgroup, path, names));
    } else if (controllers.split(",").includes("memory")) {
      const names = [
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "total_inactive_file",
      ] as const;
      left.push(...leftAlong(join(cgroup, "memory"), path, names));
    }
  }
  return left;
}

type Names = readonly [limit: string, used: string, reclaimable: string];

/** The group and those around it; in a container the path is often that of the host. */
function leftAlong(root: string, path: string, names: Names): number[] {
  const parts = path.split("/").filter((part) => part !== "" && part !== "..");
  const folders = parts.map((_, index) => join(root, ...parts.slice(0, index + 1)));
  return [root, ...folders].flatMap((folder) => leftIn(folder, names) ?? []);
}

function leftIn(folder: string, [limitName, usedName, reclaimableName]: Names): number | undefined {
  const limit = Number(textOf(join(folder, limitName)) ?? Number.NaN); // "max" is no number
  const used = Number(textOf(join(folder, usedName)) ?? Number.NaN);
  if (!(limit < unlimitedBytes) || Number.isNaN(used)) return undefined;
  const pattern = new RegExp(`^${reclaimableName} (\\d+)$`, "m");
  const reclaimable = Number(pattern.exec(textOf(join(folder, "memory.stat")) ?? "")?.[1] ?? 0);
  return limit - used + reclaimable;
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined; // not Linux, or not allowed
  }
}
