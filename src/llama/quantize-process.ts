/**
 * The process that converts one model file, so that a crash of the library ends nothing else.
 * Arguments: from, to, type, threads. Exits with 0; or with 1, and one sentence as the last line
 * on stderr. Lines before it are the library's log.
 */
import { parseFileType } from "./file-types.ts";
import { openLibrary } from "./library.ts";
import { quantizeModel } from "./quantize.ts";

function main(): void {
  const [from, to, type, threads] = process.argv.slice(2);
  if (from === undefined || to === undefined || type === undefined) {
    throw new Error("Arguments are: from, to, type and, if wanted, threads.");
  }
  const fileType = parseFileType(type);
  if (typeof fileType === "object") throw new Error(fileType.problem);
  quantizeModel(openLibrary(), { from, to, type: fileType, threads: Number(threads ?? 1) });
}

try {
  main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
