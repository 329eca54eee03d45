/** Starts llama-server for a row: the row's slots and context, its own defaults for all else. */
import { createServer } from "node:net";
import { type PeerArm, tunedOptions } from "./arms.ts";
import { BenchError } from "./bench-error.ts";
import { lastWords, type Program, startProgram } from "./children.ts";
import { getText } from "./client.ts";
import type { Peer } from "./peer.ts";
import { pythonPrograms, wheelProgram } from "./peer-wheel.ts";
import type { Shape } from "./sizes.ts";
import { pause, type Target } from "./target.ts";

const host = "127.0.0.1";
const startMsMax = 300_000;
/** Its options can come from variables of this name too. */
const variablePrefix = "LLAMA_ARG_";

export async function startPeerServer(
  peer: Peer,
  arm: PeerArm,
  shape: Shape,
  options: { readonly model: string; readonly signal: AbortSignal },
): Promise<Target> {
  const port = await freePort();
  const words = peerWords(arm, shape, { model: options.model, port });
  const program = startPeer(peer, words);
  const url = `http://${host}:${port}`;
  const deadlineMs = performance.now() + startMsMax;
  while ((await getText(`${url}/health`, options.signal).catch(() => undefined)) === undefined) {
    const { exitCode, signalCode } = program.process;
    if (exitCode !== null || signalCode !== null || performance.now() > deadlineMs) {
      await program.stop();
      const how = signalCode === null ? "" : ` (${signalCode})`;
      const reason = `llama-server did not start${how}: ${lastWords(program.output())}`;
      throw new BenchError("failed", reason);
    }
    await pause(100, options.signal, program);
  }
  return {
    kind: "peer",
    url,
    pid: program.process.pid ?? 0,
    isIdle: async (signal) => {
      const slots = (await getText(`${url}/slots`, signal)) ?? "[]";
      return !/"is_processing":\s*true/.test(slots);
    },
    stop: () => program.stop(),
  };
}

/** The context option is the whole cache, which the slots divide. */
export function peerWords(
  arm: PeerArm,
  { slots, context }: Shape,
  { model, port }: { readonly model: string; readonly port: number },
): string[] {
  return [
    ...["-m", model, "--host", host, "--port", String(port)],
    ...["-c", String(slots * context), "-np", String(slots)],
    ...(arm.tuned ? tunedOptions : []),
  ];
}

function startPeer(peer: Peer, words: readonly string[]): Program {
  const environment = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith(variablePrefix)),
  );
  if (peer.kind === "program") return startProgram(peer.path, words, { env: environment });
  const env = { ...environment, PYTHONPATH: peer.folder };
  return startProgram(pythonPrograms[0] ?? "python3", ["-c", wheelProgram, ...words], { env });
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve, reject) => {
    probe.once("error", reject);
    probe.listen(0, host, resolve);
  });
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no port was given");
  return address.port;
}
