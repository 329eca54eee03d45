/** Why a file could not be brought, told apart by what to do next. */

/** One source failed: the next one may have the file. The message is a reason, no sentence. */
export class SourceError extends Error {
  override readonly name = "SourceError";
}

/** There is no use in trying further. The message is one line for the user. */
export class FetchError extends Error {
  override readonly name = "FetchError";
}

const fullDiskCodes: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT"]);
const refusedCodes: ReadonlySet<string> = new Set(["EACCES", "EPERM", "EROFS"]);

/** A FetchError when the disk is what failed, else the error itself. */
export function diskProblem(error: unknown, folder: string): unknown {
  const code = (error as NodeJS.ErrnoException | undefined)?.code ?? "";
  if (fullDiskCodes.has(code)) {
    return new FetchError(
      `there is no space left for the model in ${folder}; free some, or choose another folder ` +
        "with --cache",
    );
  }
  if (refusedCodes.has(code)) {
    return new FetchError(
      `the model folder ${folder} cannot be written (${code}); choose another with --cache`,
    );
  }
  if (code === "ENOTDIR" || code === "EEXIST") {
    return new FetchError(`the model folder ${folder} cannot be made (${code})`);
  }
  return error;
}
