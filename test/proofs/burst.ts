/** Many requests at the same moment on few slots: each is answered, or told when to come again. */
import { ask, type Told } from "./asking.ts";
import { type ProofPart, tally, timesLine } from "./figures.ts";
import { newDatabase } from "./proof-database.ts";
import { ProofServer, tinyModelOptions } from "./proof-server.ts";

export interface BurstOptions {
  readonly requests: number;
  /** Of the server: how many prompts may wait; its default without it. */
  readonly queue?: number;
}

const deadlineMs = 120_000;

export async function runBurst({ requests, queue }: BurstOptions): Promise<ProofPart> {
  const database = await newDatabase("sqlite");
  const limit = queue === undefined ? [] : ["--queue", String(queue)];
  const server = new ProofServer({ options: [...tinyModelOptions, ...database.options, ...limit] });
  try {
    const url = await server.start();
    const told = await Promise.all(
      Array.from({ length: requests }, (_, index) => {
        const body = { prompt: `Number ${index}`, max_tokens: 32, stream: index % 2 === 0 };
        return ask({ url, body, deadlineMs });
      }),
    );
    const whole = told.filter(({ end }) => end === "whole");
    const times = whole.map(({ sentMs, endedMs }) => endedMs - sentMs);
    const after = await ask({ url, body: { prompt: "a", max_tokens: 1 }, deadlineMs });
    return {
      title: `${requests} requests at once, 4 slots, queue ${queue ?? "as by default"}`,
      figures: [
        ["answers", tally(told.map(({ end, status }) => `${end} ${status}`))],
        ["time of whole answers", timesLine(times)],
        ["told to wait", timesLine(told.flatMap(({ retryAfterMs }) => retryAfterMs ?? []))],
      ],
      violations: [...told.flatMap(problem), ...(after.end === "whole" ? [] : ["no answer after"])],
    };
  } finally {
    await server.stop();
    await database.remove();
  }
}

function problem({ end, status, error, retryAfterMs }: Told): readonly string[] {
  if (end === "whole") return [];
  if (end === "refused" && status === 503 && (retryAfterMs ?? 0) > 0) return [];
  return [`${end}, status ${status}, ${error}, told to wait ${retryAfterMs}`];
}
