/** Reads what a server elsewhere sends: a text, or the data of server-sent events. */
import { readEvents as readServerEvents } from "../remote/event-stream-reader.ts";
import { upstreamFailed } from "./tool-error.ts";

/** The most that is read of one answer. */
export const answerBytesMax = 64 * 1024 * 1024;

const tooLong = () => upstreamFailed(`its answer is longer than ${answerBytesMax} bytes`);

/** Throws a ToolError for an answer that is too long. */
export async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of limited(response)) text += decoder.decode(part, { stream: true });
  return text + decoder.decode();
}

/** The data of each event. The connection is closed when the reader leaves early. */
export async function* readEvents(response: Response): AsyncGenerator<string> {
  for await (const event of readServerEvents(limited(response))) yield event.data;
}

async function* limited(response: Response): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.byteLength;
    if (bytes > answerBytesMax) throw tooLong();
    yield part;
  }
}
