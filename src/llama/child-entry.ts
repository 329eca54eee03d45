/**
 * Finds the file of a child process. Compiling rewrites import paths but not file addresses, and
 * Node strips types only outside node_modules, so the entry must match the running file's form.
 */
import { extname } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * The path for `fork` of the entry `name` (without extension) beside the calling module:
 * `.ts` when that runs from source, `.js` when it was compiled.
 */
export function childEntry(name: string, callerUrl: string): string {
  const extension = extname(new URL(callerUrl).pathname);
  return fileURLToPath(new URL(`./${name}${extension}`, callerUrl));
}
