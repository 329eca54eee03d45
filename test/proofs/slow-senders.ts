/** Clients whose headers or bodies trickle in, or who send nothing at all. */
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { type ProofPart, tally, timesLine } from "./figures.ts";
import { OtherClient } from "./other-client.ts";
import { newDatabase } from "./proof-database.ts";
import { ProofServer, tinyModelOptions } from "./proof-server.ts";
import { MemoryWatch, memoryLine } from "./server-processes.ts";

export interface SlowSenderOptions {
  readonly senders: number;
  readonly seconds: number;
  /** Whether all are to be cut within these seconds. */
  readonly untilCut: boolean;
}

const trickleMs = 500;
const growthMegabytesMax = 150;
const start = "POST /v1/completions HTTP/1.1\r\nhost: 127.0.0.1\r\n";

interface Sender {
  readonly kind: "nothing" | "header" | "body";
  readonly socket: Socket;
  answer: string;
  closedMs: number | undefined;
}

export async function runSlowSenders(options: SlowSenderOptions): Promise<ProofPart> {
  const { senders: count, seconds, untilCut } = options;
  const database = await newDatabase("sqlite");
  const server = new ProofServer({ options: [...tinyModelOptions, ...database.options] });
  const senders: Sender[] = [];
  try {
    const url = await server.start();
    const port = Number(new URL(url).port);
    const memory = new MemoryWatch(server);
    const other = new OtherClient(url);
    const startMs = performance.now();
    for (let place = 0; place < count; place += 1) senders.push(openSender(port, place, startMs));
    const open = () => senders.filter(({ closedMs }) => closedMs === undefined);
    while (performance.now() - startMs < seconds * 1000 && open().length > 0) {
      await delay(trickleMs);
      for (const { kind, socket } of open()) if (kind !== "nothing") socket.write("x");
    }
    const used = await memory.end();
    const { figures, violations } = await other.end();
    const found = [...violations];
    const growth = used.most.server - used.before.server;
    if (growth > growthMegabytesMax) found.push(`the server grew by ${growth} MB`);
    if (untilCut && open().length > 0) found.push(`${open().length} are open after ${seconds} s`);
    const closed = (["nothing", "header", "body"] as const).map((kind) => {
      const times = senders.flatMap((each) => (each.kind === kind ? (each.closedMs ?? []) : []));
      return [
        `closed, who sent ${kind === "nothing" ? kind : `a ${kind}`}`,
        timesLine(times),
      ] as const;
    });
    return {
      title: `${count} slow senders`,
      figures: [
        ...closed,
        ["answers to them", tally(senders.map(({ answer }) => statusOf(answer)))],
        ["memory", memoryLine(used)],
        ...figures,
      ],
      violations: found,
    };
  } finally {
    for (const { socket } of senders) socket.destroy();
    await server.stop();
    await database.remove();
  }
}

const statusOf = (answer: string) => /^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? "none";

function openSender(port: number, place: number, startMs: number): Sender {
  const kind = (["nothing", "header", "body"] as const)[place % 3] ?? "nothing";
  const socket = connect(port, "127.0.0.1");
  const sender: Sender = { kind, socket, answer: "", closedMs: undefined };
  socket.on("data", (bytes) => {
    sender.answer += bytes.toString("latin1");
  });
  socket.on("error", () => {});
  socket.on("close", () => {
    sender.closedMs = performance.now() - startMs;
  });
  if (kind === "header") socket.write(`${start}x-slow: `);
  if (kind === "body") socket.write(`${start}content-length: 1000000\r\n\r\n{`);
  return sender;
}
