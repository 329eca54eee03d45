/** Builds the package: dist/ from src/, always from nothing. `bin/` is published as it is. */
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const compiler = join(root, "node_modules", "typescript", "bin", "tsc");

rmSync(join(root, "dist"), { recursive: true, force: true });
const result = spawnSync(process.execPath, [compiler, "-p", "tsconfig.build.json"], {
  cwd: root,
  stdio: "inherit",
});
if (result.status !== 0) {
  // A half build must not be what bin/completionist.cjs starts.
  rmSync(join(root, "dist"), { recursive: true, force: true });
  process.exitCode = 1;
}
