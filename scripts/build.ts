/**
 * Builds the package: dist/ from src/, always from nothing. `bin/` is published as it is. Compiled
 * beside the old dist/ and put in its place when done, since a server may be running from that.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, globSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
const dist = join(root, "dist");
// Left by a build that was cut short.
for (const name of globSync(".dist-*", { cwd: root })) {
  rmSync(join(root, name), { recursive: true, force: true });
}
const fresh = mkdtempSync(join(root, ".dist-"));

const result = spawnSync(
  process.execPath,
  [compiler, "-p", "tsconfig.build.json", "--outDir", fresh],
  { cwd: root, stdio: "inherit" },
);
if (result.status === 0) {
  rmSync(dist, { recursive: true, force: true });
  chmodSync(fresh, 0o755);
  renameSync(fresh, dist);
} else {
  rmSync(fresh, { recursive: true, force: true });
  process.exitCode = 1;
}
