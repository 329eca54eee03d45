/** Server-sent events out of the bytes of a body, in whatever pieces they come. */

export interface ServerEvent {
  /** Lines of `data:`, joined by line breaks. */
  readonly data: string;
  /** `message` where none is named. */
  readonly name: string;
}

/** The data of the last event of a stream. */
export const endOfStream = "[DONE]";

/** Characters of one event: an echoed prompt with its logprobs is large, an endless line is worse. */
export const eventCharactersMax = 256 * 1024 * 1024;

/** Throws a RangeError for an event that never ends. */
export async function* readEvents(
  body: AsyncIterable<Uint8Array>,
  charactersMax = eventCharactersMax,
): AsyncGenerator<ServerEvent> {
  const lines = new LineSplitter(charactersMax);
  const event = new EventBuilder(charactersMax);
  for await (const bytes of body) {
    for (const line of lines.push(bytes)) {
      const whole = event.add(line);
      if (whole !== undefined) yield whole;
    }
  }
  // An event without its empty line may be half of what was sent; only the end is beyond doubt.
  event.add(lines.rest());
  const last = event.add("");
  if (last?.data === endOfStream) yield last;
}

/** Lines end with LF, CR or both together. */
class LineSplitter {
  readonly #decoder = new TextDecoder();
  readonly #charactersMax: number;
  #rest = "";
  /** The last piece ended with CR; an LF at the start of the next belongs to it. */
  #afterReturn = false;

  constructor(charactersMax: number) {
    this.#charactersMax = charactersMax;
  }

  push(bytes: Uint8Array): string[] {
    let piece = this.#decoder.decode(bytes, { stream: true });
    if (piece === "") return [];
    if (this.#afterReturn && piece.startsWith("\n")) piece = piece.slice(1);
    this.#afterReturn = piece === "" ? false : piece.endsWith("\r");
    const lines = piece.split(/\r\n|\n|\r/);
    lines[0] = this.#rest + (lines[0] ?? "");
    this.#rest = lines.pop() ?? "";
    if (this.#rest.length > this.#charactersMax) throw tooLong();
    return lines;
  }

  /** What came after the last line. */
  rest(): string {
    return this.#rest;
  }
}

class EventBuilder {
  readonly #charactersMax: number;
  #data: string[] = [];
  #characters = 0;
  #name = "";

  constructor(charactersMax: number) {
    this.#charactersMax = charactersMax;
  }

  /** The event that an empty line ends, if it has data. */
  add(line: string): ServerEvent | undefined {
    if (line === "") return this.#take();
    const colon = line.indexOf(":");
    // A comment.
    if (colon === 0) return undefined;
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.#name = value;
    if (field === "data") {
      this.#data.push(value);
      this.#characters += value.length + 1;
      if (this.#characters > this.#charactersMax) throw tooLong();
    }
    return undefined;
  }

  #take(): ServerEvent | undefined {
    const event = { data: this.#data.join("\n"), name: this.#name || "message" };
    const hasData = this.#data.length > 0;
    this.#data = [];
    this.#characters = 0;
    this.#name = "";
    return hasData ? event : undefined;
  }
}

const tooLong = (): RangeError => new RangeError("an event of the stream is too long");
