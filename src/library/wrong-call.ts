/** A request that says something else than the call it is given to. */

export function wrongCall(stream: boolean): TypeError {
  return new TypeError(
    stream
      ? "stream() answers in chunks; for an answer in one piece call create()"
      : "create() answers in one piece; for stream: true call stream()",
  );
}
