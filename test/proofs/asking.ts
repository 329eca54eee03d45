/** A client that writes down what it was told: to be compared with the ledger. */

export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
}

export interface Told {
  readonly keyId: string | undefined;
  /** Undefined where nothing of a completion came. */
  readonly completionId: string | undefined;
  /**
   * whole: the body, or the stream with its `[DONE]`. error: an error frame in a stream. refused: a
   * status other than 200. cut: the connection broke off. unreachable: no connection, or no answer
   * on it. hung: nothing of that in time.
   */
  readonly end: "whole" | "error" | "refused" | "cut" | "unreachable" | "hung";
  readonly status: number | undefined;
  /** Of an error: its code, else its type. */
  readonly error: string | undefined;
  /** The last usage seen; of a whole answer its usage. */
  readonly usage: Usage | undefined;
  readonly retryAfterMs: number | undefined;
  /** On the clock of `performance`. */
  readonly sentMs: number;
  readonly firstByteMs: number | undefined;
  /** When the last part of a choice came. */
  readonly lastPartMs: number | undefined;
  readonly endedMs: number;
}

export interface Asking {
  readonly url: string;
  readonly keyId?: string;
  readonly secret?: string;
  /** Streams ask for their usage on every chunk. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly deadlineMs: number;
}

/** Never rejects. */
export async function ask(asking: Asking): Promise<Told> {
  return new Telling(asking).complete();
}

type Ending = Pick<Told, "end"> & Partial<Pick<Told, "error">>;

class Telling {
  readonly #asking: Asking;
  readonly #sentMs = performance.now();
  #status: number | undefined;
  #retryAfterMs: number | undefined;
  #id: string | undefined;
  #usage: Usage | undefined;
  #firstByteMs: number | undefined;
  #lastPartMs: number | undefined;
  #error: string | undefined;

  constructor(asking: Asking) {
    this.#asking = asking;
  }

  async complete(): Promise<Told> {
    const signal = AbortSignal.timeout(this.#asking.deadlineMs);
    let ending: Ending;
    try {
      ending = await this.#read(await this.#send(signal));
    } catch {
      if (signal.aborted) ending = { end: "hung" };
      else ending = { end: this.#status === undefined ? "unreachable" : "cut" };
    }
    return {
      keyId: this.#asking.keyId,
      completionId: this.#id,
      status: this.#status,
      error: this.#error,
      usage: this.#usage,
      retryAfterMs: this.#retryAfterMs,
      sentMs: this.#sentMs,
      firstByteMs: this.#firstByteMs,
      lastPartMs: this.#lastPartMs,
      endedMs: performance.now(),
      ...ending,
    };
  }

  #send(signal: AbortSignal): Promise<Response> {
    const { url, secret, body, headers } = this.#asking;
    const options = { include_usage: true, continuous_usage_stats: true };
    return fetch(`${url}/v1/completions`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
        ...headers,
      },
      body: JSON.stringify(body.stream === true ? { ...body, stream_options: options } : body),
      signal,
    });
  }

  async #read(response: Response): Promise<Ending> {
    this.#status = response.status;
    this.#firstByteMs = performance.now();
    const retry = response.headers.get("retry-after-ms") ?? undefined;
    this.#retryAfterMs = retry === undefined ? undefined : Number(retry);
    if (response.status !== 200) {
      this.#failure(await response.json());
      return { end: "refused" };
    }
    if (this.#asking.body.stream === true) return this.#readStream(response);
    const answer = (await response.json()) as Chunk;
    this.#take(answer);
    return { end: "whole" };
  }

  async #readStream(response: Response): Promise<Ending> {
    const decoder = new TextDecoder();
    let text = "";
    let isDone = false;
    for await (const bytes of response.body as AsyncIterable<Uint8Array>) {
      text += decoder.decode(bytes, { stream: true });
      const frames = text.split("\n\n");
      text = frames.pop() ?? "";
      for (const frame of frames) {
        if (frame === "data: [DONE]") isDone = true;
        else if (frame.startsWith("data: ")) this.#take(JSON.parse(frame.slice(6)) as Chunk);
      }
    }
    if (this.#error !== undefined) return { end: "error" };
    return { end: isDone ? "whole" : "cut" };
  }

  #take(chunk: Chunk): void {
    if (chunk.error !== undefined) {
      this.#failure(chunk);
      return;
    }
    this.#id ??= chunk.id;
    this.#usage = chunk.usage ?? this.#usage;
    if (chunk.choices?.length !== 0) this.#lastPartMs = performance.now();
  }

  #failure(body: unknown): void {
    const { error } = body as { error?: { code?: string | null; type?: string } };
    this.#error = error?.code ?? error?.type ?? "no error";
  }
}

interface Chunk {
  readonly id?: string;
  readonly choices?: readonly unknown[];
  readonly usage?: Usage | null;
  readonly error?: unknown;
}
