/** Why a model file cannot be served, told apart so that the user knows what to do about it. */

export type ModelFileProblem =
  /** There is no such file. */
  | "missing"
  /** It exists, but the system will not let us read it, or it is a folder. */
  | "unreadable"
  /** It is something other than a GGUF file. */
  | "not-gguf"
  /** It began as a GGUF file and is cut off or inconsistent. */
  | "damaged"
  /** It is sound, but needs something that this release of the library lacks. */
  | "unsupported"
  /** Sound as far as we can see, refused by the library; its log has the reason. */
  | "refused";

/** The message is one sentence for the user and names the file. */
export class ModelFileError extends Error {
  readonly reason: ModelFileProblem;
  readonly path: string;

  constructor(reason: ModelFileProblem, path: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ModelFileError";
    this.reason = reason;
    this.path = path;
  }
}
