import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { freeMemoryBytes } from "./free-memory.ts";

function machine(files: Record<string, string>): { proc: string; cgroup: string } {
  const root = mkdtempSync(join(tmpdir(), "free-memory-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return { proc: join(root, "proc"), cgroup: join(root, "cgroup") };
}

const meminfo = "MemTotal:       16000000 kB\nMemAvailable:    8000000 kB\n";

test("without a container it is what the kernel says is available", () => {
  expect(freeMemoryBytes(machine({ "proc/meminfo": meminfo }))).toBe(8_000_000 * 1024);
});

test("a limit of control groups version 2 counts, less what is used but cannot be given back", () => {
  const files = {
    "proc/meminfo": meminfo,
    "proc/self/cgroup": "0::/app/worker\n",
    "cgroup/app/memory.max": "1000000000\n",
    "cgroup/app/memory.current": "600000000\n",
    "cgroup/app/memory.stat": "anon 1\ninactive_file 100000000\n",
    "cgroup/app/worker/memory.max": "max\n",
    "cgroup/app/worker/memory.current": "1\n",
  };
  expect(freeMemoryBytes(machine(files))).toBe(500_000_000);
});

test("so does one of version 1, also where the container hides its path", () => {
  const files = {
    "proc/meminfo": meminfo,
    "proc/self/cgroup": "4:memory:/docker/1234\n1:cpu:/\n0::/\n",
    "cgroup/memory/memory.limit_in_bytes": "2000000000\n",
    "cgroup/memory/memory.usage_in_bytes": "500000000\n",
    "cgroup/memory/memory.stat": "total_inactive_file 0\n",
  };
  expect(freeMemoryBytes(machine(files))).toBe(1_500_000_000);
});

test("no limit is written as a very large number", () => {
  const files = {
    "proc/meminfo": meminfo,
    "proc/self/cgroup": "4:memory:/\n",
    "cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
    "cgroup/memory/memory.usage_in_bytes": "500000000\n",
  };
  expect(freeMemoryBytes(machine(files))).toBe(8_000_000 * 1024);
});

test("a system that tells nothing still has a positive figure", () => {
  expect(freeMemoryBytes(machine({}))).toBeGreaterThan(1e6);
});
