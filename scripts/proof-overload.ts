/**
 * `npm run proof:overload -- --part burst|readers|senders|disk|clock|all`: more than a server can
 * do, clients that do not read or send, a full disk, a clock that jumps. On this machine only.
 */
import { parseArgs } from "node:util";
import { runBurst } from "../test/proofs/burst.ts";
import { runClockJumps } from "../test/proofs/clock-jumps.ts";
import { type ProofPart, printPart } from "../test/proofs/figures.ts";
import { runFullDisk } from "../test/proofs/full-disk.ts";
import { runSlowReaders } from "../test/proofs/slow-readers.ts";
import { runSlowSenders } from "../test/proofs/slow-senders.ts";

const { values } = parseArgs({
  options: {
    part: { type: "string", default: "all" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    requests: { type: "string", default: "200" },
    connections: { type: "string", default: "500" },
  },
});
const seed = Number(values.seed);
const requests = Number(values.requests);
const connections = Number(values.connections);

const parts: Readonly<Record<string, () => Promise<readonly ProofPart[]>>> = {
  burst: async () => [
    await runBurst({ requests }),
    await runBurst({ requests, queue: Math.ceil(requests / 4) }),
  ],
  readers: async () => [
    await runSlowReaders({ readers: connections, seconds: 240, untilCut: true }),
  ],
  senders: async () => [
    await runSlowSenders({ senders: connections, seconds: 120, untilCut: true }),
  ],
  disk: () => runFullDisk({ seconds: 8, clients: 12, seed }),
  clock: () => runClockJumps({ stepSeconds: 6, seed }),
};

const chosen = values.part === "all" ? Object.keys(parts) : [values.part];
console.log(`seed ${seed}`);
for (const name of chosen) {
  const run = parts[name];
  if (run === undefined) throw new Error(`--part is one of ${Object.keys(parts).join(", ")}, all.`);
  (await run()).forEach(printPart);
}
