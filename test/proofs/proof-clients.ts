/** Clients of a server that comes and goes: keys of every kind, requests of every kind. */
import { setTimeout as delay } from "node:timers/promises";
import type { KeyLimits } from "../../src/access/key-limits.ts";
import { openKeyStore } from "../../src/access/key-store.ts";
import type { DatabaseSettings } from "../../src/access/location.ts";
import { Random } from "../fuzz/random.ts";
import { ask, type Told } from "./asking.ts";
import type { ProofKey } from "./ledger-check.ts";

export async function makeKeys(
  settings: DatabaseSettings,
  limits: Readonly<Record<string, KeyLimits>>,
): Promise<readonly ProofKey[]> {
  const store = await openKeyStore(settings);
  const keys: ProofKey[] = [];
  for (const [name, each] of Object.entries(limits)) {
    const { key, secret } = await store.create({ name, limits: each });
    keys.push({ id: key.id, name, secret, limits: each });
  }
  await store.close();
  return keys;
}

/** One key of each kind of limit. A quota is used up now and then, if it is of this size. */
export function limitsOfEveryKind(monthTokens: number): Readonly<Record<string, KeyLimits>> {
  return {
    free: {},
    requests: { requestsPerMinute: 300, userRequestsPerMinute: 120 },
    tokens: { tokensPerMinute: 20_000, userTokensPerMinute: 8_000 },
    month: { tokensPerMonth: monthTokens, userTokensPerMonth: Math.ceil(monthTokens / 3) },
    small: { tokensPerMonth: 3_000 },
    parallel: { maxParallel: 2, userMaxParallel: 1 },
  };
}

const prompts = ["The river", "Once upon a time there was", ["Red,", "One,"], [1, 2, 3], "a"];

export function anyBody(random: Random): Readonly<Record<string, unknown>> {
  const user = random.pick([undefined, "ann", "bob"]);
  const common = {
    prompt: random.pick(prompts),
    max_tokens: random.between(1, 60),
    ...(user === undefined ? {} : { user }),
    ...(random.chance(0.7) ? { ignore_eos: true } : {}),
  };
  switch (random.integer(5)) {
    case 0:
      return { ...common, stream: true };
    case 1:
      return { ...common, stream: true, n: random.between(2, 4) };
    case 2:
      return { ...common, n: random.between(1, 3), logprobs: 2 };
    case 3:
      return { ...common, n: 2, best_of: 4 };
    default:
      return common;
  }
}

export interface ClientsOptions {
  readonly keys: readonly ProofKey[];
  readonly clients: number;
  readonly seed: number;
  /** Of the server, while there is one. */
  readonly url: () => string | undefined;
  /** In which every request must end. */
  readonly deadlineMs: number;
}

/** Whoever is refused comes again soon, not when it is told to: limits are tried hard. */
const refusedPauseMs = 100;
const unreachablePauseMs = 20;

export class ProofClients {
  readonly keys: readonly ProofKey[];
  readonly told: Told[] = [];
  readonly #options: ClientsOptions;
  readonly #working: Promise<unknown>;
  #ended = false;

  constructor(options: ClientsOptions) {
    this.#options = options;
    this.keys = options.keys;
    const { clients } = options;
    this.#working = Promise.all(Array.from({ length: clients }, (_, client) => this.#work(client)));
  }

  /** Lets what runs end. */
  async end(): Promise<void> {
    this.#ended = true;
    await this.#working;
  }

  /** Asks with a key, again and again, until it is answered; false when it never is. */
  async letIn(url: string, name: string, withinMs: number): Promise<boolean> {
    const key = this.keys.find((candidate) => candidate.name === name);
    if (key === undefined) throw new RangeError(`there is no key ${name}`);
    const { id, secret } = key;
    const body = { prompt: "a", max_tokens: 1 };
    const { deadlineMs } = this.#options;
    const untilMs = performance.now() + withinMs;
    while (performance.now() < untilMs) {
      const told = await ask({ url, keyId: id, secret, body, deadlineMs });
      this.told.push(told);
      if (told.end === "whole") return true;
      await delay(unreachablePauseMs);
    }
    return false;
  }

  async #work(client: number): Promise<void> {
    const { keys, seed, deadlineMs } = this.#options;
    const random = new Random(seed, client + 1);
    const key = keys[client % keys.length];
    if (key === undefined) throw new RangeError("there are no keys");
    while (!this.#ended) {
      const url = this.#options.url();
      if (url === undefined) {
        await delay(unreachablePauseMs);
        continue;
      }
      const { id, secret } = key;
      const told = await ask({ url, keyId: id, secret, body: anyBody(random), deadlineMs });
      this.told.push(told);
      if (told.end === "refused") await delay(refusedPauseMs);
      if (told.end === "unreachable") await delay(unreachablePauseMs);
    }
  }
}
