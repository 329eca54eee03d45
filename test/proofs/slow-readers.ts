/** Clients that ask for long streams and read them a byte at a time, or not at all. */
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { ProofPart } from "./figures.ts";
import { OtherClient } from "./other-client.ts";
import { newDatabase } from "./proof-database.ts";
import { ProofServer, tinyModelOptions } from "./proof-server.ts";
import { MemoryWatch, memoryLine, openConnections } from "./server-processes.ts";

export interface SlowReaderOptions {
  readonly readers: number;
  /** How long to look at them; they are to be gone by then if `untilCut`. */
  readonly seconds: number;
  readonly untilCut: boolean;
}

/** Growth of the server process that some hundreds of stalled streams may cost. */
const growthMegabytesMax = 400;
const byteEveryMs = 50;
/** An echoed prompt with its logprobs is much text for little work: megabytes for each reader. */
const body = JSON.stringify({
  prompt: "The quick brown fox jumps over the lazy dog. ".repeat(8),
  ...{ max_tokens: 1, n: 64, echo: true, logprobs: 5, stream: true },
});
const request = [
  "POST /v1/completions HTTP/1.1",
  "host: 127.0.0.1",
  "content-type: application/json",
  `content-length: ${Buffer.byteLength(body)}`,
  "",
  body,
].join("\r\n");

export async function runSlowReaders(options: SlowReaderOptions): Promise<ProofPart> {
  const { readers, seconds, untilCut } = options;
  const database = await newDatabase("sqlite");
  const server = new ProofServer({ options: [...tinyModelOptions, ...database.options] });
  const sockets: Socket[] = [];
  try {
    const url = await server.start();
    const port = Number(new URL(url).port);
    const memory = new MemoryWatch(server);
    const other = new OtherClient(url);
    const startMs = performance.now();
    for (let reader = 0; reader < readers; reader += 1) sockets.push(openReader(port, reader));
    let connectionsMost = 0;
    let connections = 0;
    // The client that behaves keeps one connection, or leaves two.
    const othersMax = 2;
    const elapsedMs = () => performance.now() - startMs;
    do {
      await delay(250);
      connections = openConnections(port);
      connectionsMost = Math.max(connectionsMost, connections);
      const isOver = untilCut && connectionsMost > othersMax && connections <= othersMax;
      if (isOver) break;
    } while (elapsedMs() < seconds * 1000);
    const cutMs = elapsedMs();
    const used = await memory.end();
    const { figures, violations } = await other.end();
    const growth = used.most.server - used.before.server;
    const found = [...violations];
    if (growth > growthMegabytesMax) found.push(`the server grew by ${growth} MB`);
    const isCut = connections <= othersMax;
    if (untilCut && !isCut) found.push(`${connections} connections are open after ${seconds} s`);
    const open = isCut ? `none after ${Math.round(cutMs / 1000)} s` : String(connections);
    return {
      title: `${readers} slow readers`,
      figures: [
        ["connections at most", connectionsMost],
        ["connections of slow readers at the end", open],
        ["memory", memoryLine(used)],
        ...figures,
      ],
      violations: found,
    };
  } finally {
    for (const socket of sockets) socket.destroy();
    await server.stop();
    await database.remove();
  }
}

/** In turn: one that reads nothing, one byte after the other, a little and then nothing. */
function openReader(port: number, place: number): Socket {
  const kind = place % 3;
  let taken = 0;
  const socket: Socket = connect({
    ...{ port, host: "127.0.0.1" },
    onread: {
      buffer: Buffer.alloc(kind === 1 ? 1 : 4096),
      callback: () => {
        taken += 1;
        if (kind === 1) setTimeout(() => socket.resume(), byteEveryMs);
        return kind === 2 && taken < 4;
      },
    },
  });
  if (kind === 0) socket.pause();
  // The server cuts them.
  socket.on("error", () => {});
  socket.write(request);
  return socket;
}
