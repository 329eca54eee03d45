/** Reads what a server elsewhere sends: a text, or the data of server-sent events. */
import { upstreamFailed } from "./tool-error.ts";

/** The most that is read of one answer. */
export const answerBytesMax = 64 * 1024 * 1024;

const tooLong = () => upstreamFailed(`its answer is longer than ${answerBytesMax} bytes`);

/** Throws a ToolError for an answer that is too long. */
export async function readText(response: Response): Promise<string> {
  let text = "";
  for await (const part of decoded(response)) text += part;
  return text;
}

/** The data of each event. The connection is closed when the reader leaves early. */
export async function* readEvents(response: Response): AsyncGenerator<string> {
  let rest = "";
  let data: string[] = [];
  for await (const part of decoded(response)) {
    const lines = (rest + part).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
      else if (line === "" && data.length > 0) {
        yield data.join("\n");
        data = [];
      }
    }
  }
}

async function* decoded(response: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.byteLength;
    if (bytes > answerBytesMax) throw tooLong();
    yield decoder.decode(part, { stream: true });
  }
  yield decoder.decode();
}
