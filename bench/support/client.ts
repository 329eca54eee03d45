/** Requests of the bench: they measure what a client sees. */

export interface Completion {
  /** Milliseconds from the request to the first token, and from the first to the last. */
  readonly firstTokenMs: number;
  readonly generationMs: number;
  readonly tokens: number;
  /** Milliseconds between tokens. */
  readonly gapsMs: readonly number[];
}

export async function stream(url: string, body: object, signal?: AbortSignal): Promise<Completion> {
  const startMs = performance.now();
  const streamed = { ...body, stream: true, stream_options: { include_usage: true } };
  const response = await post(url, streamed, signal);
  let tokens = 0;
  const timesMs: number[] = [];
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) {
    const frames = (rest + decoder.decode(bytes, { stream: true })).split("\n\n");
    rest = frames.pop() ?? "";
    const nowMs = performance.now();
    for (const frame of frames) {
      // A chunk may hold several tokens that make one character: usage tells how many there were.
      const counted = /"completion_tokens":(\d+)/.exec(frame)?.[1];
      if (counted !== undefined) tokens = Number(counted);
      else if (frame.startsWith('data: {"id"')) timesMs.push(nowMs);
    }
  }
  const [first = startMs, last = startMs] = [timesMs[0], timesMs.at(-1)];
  const gapsMs = timesMs.slice(1).map((time, index) => time - (timesMs[index] as number));
  return { firstTokenMs: first - startMs, generationMs: last - first, tokens, gapsMs };
}

/** Milliseconds for a whole answer. */
export async function complete(url: string, body: object): Promise<number> {
  const startMs = performance.now();
  const response = await post(url, body);
  await response.arrayBuffer();
  return performance.now() - startMs;
}

async function post(url: string, body: object, signal?: AbortSignal): Promise<Response> {
  const response = await fetch(`${url}/v1/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  return response;
}

/** Token ids that begin like no other prompt of this run, so that nothing is spared. */
export function freshPrompt(length: number): number[] {
  const salt = Math.floor(Math.random() * 30_000);
  return Array.from({ length }, (_, index) => 100 + ((salt + index * 7919) % 40_000));
}
