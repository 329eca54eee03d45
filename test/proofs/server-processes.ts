/** What the system knows of a server: its memory and its connections. Linux only. */
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { type Memory, readMemory } from "../fuzz/fuzz-server.ts";
import type { ProofServer } from "./proof-server.ts";

const established = "01";

/** Connections of a server on 127.0.0.1 that are open, on its side. */
export function openConnections(port: number): number {
  const local = `0100007F:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const lines = readFileSync("/proc/net/tcp", "utf8").split("\n");
  return lines.filter((line) => {
    const [, from, , state] = line.trim().split(/\s+/);
    return from === local && state === established;
  }).length;
}

const samplePauseMs = 200;

/** Watches memory until it is ended. */
export class MemoryWatch {
  readonly #server: ProofServer;
  readonly #before: Memory;
  readonly #watching: Promise<void>;
  #most: Memory;
  #ended = false;

  constructor(server: ProofServer) {
    this.#server = server;
    this.#before = this.#read();
    this.#most = this.#before;
    this.#watching = this.#watch();
  }

  /** Resident megabytes before, and at most. */
  async end(): Promise<{ readonly before: Memory; readonly most: Memory }> {
    this.#ended = true;
    await this.#watching;
    return { before: this.#before, most: this.#most };
  }

  async #watch(): Promise<void> {
    while (!this.#ended) {
      const now = this.#read();
      this.#most = {
        server: Math.max(this.#most.server, now.server),
        engine: Math.max(this.#most.engine, now.engine),
      };
      await delay(samplePauseMs);
    }
  }

  #read(): Memory {
    return readMemory(this.#server) ?? { server: 0, engine: 0 };
  }
}

export const memoryLine = ({ before, most }: { readonly before: Memory; readonly most: Memory }) =>
  `server ${before.server}, at most ${most.server} MB; engine ${before.engine}, ${most.engine} MB`;
