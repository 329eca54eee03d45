/** Reads HTTP answers from a connection's bytes, without trusting the server that sent them. */

export interface Answer {
  readonly status: number;
  /** Names in lower case; of doubled ones the last. */
  readonly headers: ReadonlyMap<string, string>;
  /** As it was sent, without chunk framing. */
  readonly body: Buffer;
}

/** The method of each request on the connection, in order: answers to HEAD have no body. */
export class AnswerReader {
  readonly answers: Answer[] = [];
  readonly #methods: readonly string[];
  #unread: Buffer = Buffer.alloc(0);
  #head: Omit<Answer, "body"> | undefined;
  #body: Buffer[] = [];
  #bodyLeft = 0;

  constructor(methods: readonly string[]) {
    this.#methods = methods;
  }

  /** Whether an answer has begun and not ended. */
  get unfinished(): boolean {
    return this.#head !== undefined || this.#unread.length > 0;
  }

  /** Throws an Error where the bytes are no answer. */
  push(bytes: Buffer): void {
    this.#unread = this.#unread.length === 0 ? bytes : Buffer.concat([this.#unread, bytes]);
    while (this.#readHead() && this.#readBody()) this.#endAnswer();
  }

  #readHead(): boolean {
    if (this.#head !== undefined) return true;
    const end = this.#unread.indexOf("\r\n\r\n");
    if (end < 0) return false;
    const [first = "", ...lines] = this.#unread.toString("latin1", 0, end).split("\r\n");
    this.#unread = this.#unread.subarray(end + 4);
    const status = Number(/^HTTP\/1\.1 (\d{3})( |$)/.exec(first)?.[1] ?? Number.NaN);
    if (Number.isNaN(status)) throw new Error(`an answer begins with ${JSON.stringify(first)}`);
    // "100 Continue" announces the answer and is none.
    if (status < 200) return this.#readHead();
    const headers = new Map<string, string>();
    for (const line of lines) {
      const colon = line.indexOf(":");
      headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
    }
    this.#head = { status, headers };
    this.#bodyLeft = Number(headers.get("content-length") ?? 0);
    return true;
  }

  /** Whether the body is complete. */
  #readBody(): boolean {
    const { status, headers } = this.#head as Omit<Answer, "body">;
    const method = this.#methods[this.answers.length];
    if (method === "HEAD" || status === 204 || status === 304) return true;
    if (headers.get("transfer-encoding") === "chunked") return this.#readChunks();
    const taken = this.#unread.subarray(0, this.#bodyLeft);
    this.#body.push(taken);
    this.#bodyLeft -= taken.length;
    this.#unread = this.#unread.subarray(taken.length);
    return this.#bodyLeft === 0;
  }

  #readChunks(): boolean {
    for (;;) {
      const lineEnd = this.#unread.indexOf("\r\n");
      if (lineEnd < 0) return false;
      const size = Number.parseInt(this.#unread.toString("latin1", 0, lineEnd), 16);
      if (Number.isNaN(size)) throw new Error("a chunk has no size");
      const end = lineEnd + 2 + size;
      if (this.#unread.length < end + 2) return false;
      this.#body.push(this.#unread.subarray(lineEnd + 2, end));
      this.#unread = this.#unread.subarray(end + 2);
      if (size === 0) return true;
    }
  }

  #endAnswer(): void {
    const head = this.#head as Omit<Answer, "body">;
    this.answers.push({ ...head, body: Buffer.concat(this.#body) });
    this.#head = undefined;
    this.#body = [];
  }
}
