/** The servers of a row: started when first needed, kept while rows need them, stopped after. */
import type { OwnArm, PeerArm } from "./arms.ts";
import { greedy, streamCompletion } from "./client.ts";
import { startOwnServer } from "./own-server.ts";
import type { Peer } from "./peer.ts";
import { startPeerServer } from "./peer-server.ts";
import { Prompts } from "./prompts.ts";
import type { Shape } from "./sizes.ts";
import type { Target } from "./target.ts";

export interface PoolOptions {
  readonly model: string;
  readonly fetchedModel: string | undefined;
  readonly peer: Peer | undefined;
  readonly cache: string;
  readonly folder: string;
}

/** Enough for a server to learn how it computes best, and to touch its memory. */
const warm = { prompt: 32, tokens: 32 } as const;

export class ServerPool {
  readonly #options: PoolOptions;
  readonly #servers = new Map<string, Target>();
  #prompts: Prompts | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** Of the model that is measured; starts a server for it when none runs. */
  async prompts(arm: OwnArm, shape: Shape, signal: AbortSignal): Promise<Prompts> {
    this.#prompts ??= await Prompts.from((await this.#server(arm, shape, signal)).url, signal);
    return this.#prompts;
  }

  /** A server that has answered before. */
  async get(arm: OwnArm | PeerArm, shape: Shape, signal: AbortSignal): Promise<Target> {
    const isNew = !this.#servers.has(keyOf(arm, shape));
    const server = await this.#server(arm, shape, signal);
    if (isNew && this.#prompts !== undefined) {
      const body = { ...greedy, prompt: this.#prompts.fresh(warm.prompt), max_tokens: warm.tokens };
      await streamCompletion(server.url, body, { signal });
    }
    return server;
  }

  /** Stops those that these arms do not need. */
  async keepOnly(wanted: readonly (OwnArm | PeerArm)[], shape: Shape): Promise<void> {
    const keys = new Set(wanted.map((arm) => keyOf(arm, shape)));
    for (const [key, server] of this.#servers) {
      if (keys.has(key)) continue;
      this.#servers.delete(key);
      await server.stop();
    }
  }

  async close(): Promise<void> {
    const servers = [...this.#servers.values()];
    this.#servers.clear();
    await Promise.all(servers.map((server) => server.stop()));
  }

  /** Takes a server out that may be broken. */
  async drop(arm: OwnArm | PeerArm, shape: Shape): Promise<void> {
    const key = keyOf(arm, shape);
    const server = this.#servers.get(key);
    this.#servers.delete(key);
    await server?.stop();
  }

  async #server(arm: OwnArm | PeerArm, shape: Shape, signal: AbortSignal): Promise<Target> {
    const key = keyOf(arm, shape);
    const known = this.#servers.get(key);
    if (known !== undefined) return known;
    const server = await this.#start(arm, shape, signal);
    this.#servers.set(key, server);
    return server;
  }

  #start(arm: OwnArm | PeerArm, shape: Shape, signal: AbortSignal): Promise<Target> {
    const { model, fetchedModel, peer, cache, folder } = this.#options;
    if (arm.kind === "own") {
      return startOwnServer(arm, shape, { models: [model], cache, folder, signal });
    }
    const file = arm.fetched ? fetchedModel : model;
    if (peer === undefined || file === undefined) throw new Error("there is no such peer");
    return startPeerServer(peer, arm, shape, { model: file, signal });
  }
}

function keyOf(arm: OwnArm | PeerArm, shape: Shape): string {
  return JSON.stringify([arm, shape]);
}
