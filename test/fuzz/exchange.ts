/** Carries a delivery out over one connection to 127.0.0.1 and gives what came back. */
import { connect, type Socket } from "node:net";
import { type Answer, AnswerReader } from "./answer-reader.ts";
import type { Step } from "./delivery.ts";
import type { FuzzCase } from "./fuzz-case.ts";

export interface ExchangeResult {
  readonly answers: readonly Answer[];
  readonly elapsedMs: number;
  /** What went wrong below HTTP: no end in time, an answer that breaks off, no HTTP at all. */
  readonly problem: string | undefined;
}

/** A case may take this long, on a machine that does much else. */
export const deadlineMs = 60_000;

export async function exchange(
  port: number,
  { requests, delivery }: FuzzCase,
): Promise<ExchangeResult> {
  const startMs = performance.now();
  const reader = new AnswerReader(requests.map(({ method }) => method));
  const socket = connect(port, "127.0.0.1");
  const cut = delivery.steps.some(({ kind }) => kind === "cut");
  let problem: string | undefined;
  const over = new Promise<void>((resolve) => {
    const deadline = setTimeout(() => {
      problem = `no end after ${deadlineMs} ms`;
      socket.destroy();
    }, deadlineMs);
    socket.on("data", (bytes) => {
      try {
        reader.push(bytes);
      } catch (error) {
        problem = (error as Error).message;
      }
      if (problem !== undefined || reader.answers.length >= delivery.answersMax) socket.destroy();
    });
    // The server may close what it has refused while more is being sent.
    socket.on("error", () => {});
    socket.on("close", () => {
      clearTimeout(deadline);
      resolve();
    });
  });
  await takeSteps(socket, delivery.steps);
  await over;
  const { answers } = reader;
  if (!cut && answers.length < delivery.answersMin) {
    problem ??= reader.unfinished ? "an answer breaks off" : "no answer";
  }
  return { answers, elapsedMs: performance.now() - startMs, problem };
}

async function takeSteps(socket: Socket, steps: readonly Step[]): Promise<void> {
  for (const step of steps) {
    if (socket.destroyed) return;
    if (step.kind === "send") await write(socket, step.bytes);
    else if (step.kind === "wait") await new Promise((resolve) => setTimeout(resolve, step.ms));
    else if (step.kind === "finish") socket.end();
    else socket.destroy();
  }
}

function write(socket: Socket, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    socket.once("close", () => resolve());
    socket.write(bytes, () => resolve());
  });
}
