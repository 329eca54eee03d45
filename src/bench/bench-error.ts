/** What the bench cannot do as it was asked; the message is one line for the user. */
export class BenchError extends Error {
  override readonly name = "BenchError";
  /** `usage`: the command line is wrong. `failed`: something outside of the bench is. */
  readonly kind: "usage" | "failed";

  constructor(kind: "usage" | "failed", message: string) {
    super(message);
    this.kind = kind;
  }
}
