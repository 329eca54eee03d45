/** What the library's code for a failed step means. */
export class DecodeError extends Error {
  /** 1: no room, 2: aborted, -1: rows refused, -2: no memory, -3: computing failed. */
  readonly code: number;

  constructor(code: number, rows: number) {
    super(`Evaluating ${rows} rows failed (code ${code}): ${meaningOf(code)}.`);
    this.name = "DecodeError";
    this.code = code;
  }
}

function meaningOf(code: number): string {
  switch (code) {
    case 1:
      return "a sequence has no room for them";
    case 2:
      return "it was aborted";
    case -1:
      return "a token, a position or a sequence is not valid";
    case -2:
      return "memory could not be had";
    default:
      return "the computation failed";
  }
}
