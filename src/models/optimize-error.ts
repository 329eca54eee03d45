/** Why a file cannot be measured or converted. The message is one line for the user. */
export class OptimizeError extends Error {
  override readonly name = "OptimizeError";
}
