/**
 * An engine process without a model, for tests of its other side. The first token of a prompt says
 * what becomes of the job: see `oddTokens`.
 */
import type { FromEngine, LoadedModel, ToEngine } from "../messages.ts";

export const oddTokens = {
  /** Is answered at once. */
  answer: 0,
  /** Is admitted, and nothing more is heard of it. */
  begin: 1,
  /** Ends the process. */
  die: 2,
  /** Keeps the process's only thread for ever. */
  spin: 3,
} as const;

const model: LoadedModel = {
  contextLength: 16,
  slots: 4,
  libraryVersion: "none",
  probedMs: 1,
  vocabulary: {
    bytes: new Uint8Array(4),
    offsets: Uint32Array.of(0, 1, 2, 3, 4),
    flags: new Uint8Array(4),
    bos: undefined,
    eos: undefined,
    pad: undefined,
    addsBos: false,
    documentStart: 0,
    infill: undefined,
    chatTemplate: undefined,
  },
};

function send(message: FromEngine): void {
  process.send?.(message);
}

function run(id: number, token: number | undefined): void {
  if (token === oddTokens.die) process.kill(process.pid, "SIGABRT");
  while (token === oddTokens.spin);
  const admitted = { id, event: { kind: "admitted" } } as const;
  const ended = token === oddTokens.answer ? [{ id, ended: true } as const] : [];
  send({ kind: "events", events: [admitted, ...ended] });
}

process.on("disconnect", () => process.exit(0));
process.on("message", (message: ToEngine) => {
  if (message.kind === "load") send({ kind: "loaded", model });
  else if (message.kind === "ask") send({ kind: "alive" });
  else if (message.kind === "run") run(message.id, message.job.prompt[0]);
});
