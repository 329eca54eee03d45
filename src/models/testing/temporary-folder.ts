/** A folder that is there for one test. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "completionist-models-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
