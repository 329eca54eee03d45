/**
 * The engine process: one model, one context, one thread that calls the library. It runs the
 * scheduler step by step and takes a turn of the event loop between steps, in which messages are
 * read. It ends with the server.
 */
import { ApiError } from "../contract/errors.ts";
import { TableVocabulary } from "../engine/vocabulary-table.ts";
import type { EngineStats } from "../observe/engine-stats.ts";
import { Scheduler } from "../scheduler/scheduler.ts";
import { dieWithParent } from "./die-with-parent.ts";
import type { FromEngine, JobEvent, LoadOptions, ToEngine } from "./messages.ts";
import { openContext, type ServedContext } from "./served-context.ts";
import { StatsReporter } from "./stats-reporter.ts";
import { planSteps, type StepPlan, threadsAtStart } from "./step-plan.ts";

let served: ServedContext | undefined;
let scheduler: Scheduler | undefined;
let reporter: StatsReporter | undefined;
let plan: StepPlan | undefined;
let stepping = false;
let outgoing: JobEvent[] = [];
const nowMs = () => performance.now();

dieWithParent(Number(process.argv[2]));
// A process without a channel has no one to work for. An exit would wait for texts that are split
// into tokens on threads of their own.
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
// Ctrl-C reaches the whole group; the server decides when this process ends.
process.on("SIGINT", () => {});
process.on("message", (message) => receive(message as ToEngine));

function receive(message: ToEngine): void {
  if (message.kind === "load") load(message);
  else if (message.kind === "tokenize") void tokenize(message);
  else if (message.kind === "run") submit(message);
  else if (message.kind === "ask") send({ kind: "alive" });
  else scheduler?.abort(message.id);
}

function load(message: Extract<ToEngine, { kind: "load" }>): void {
  try {
    served = openContext({ ...message.options, threads: threadsAtStart(message.options) });
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    send({ kind: "loadFailed", message: text }, () => process.exit(1));
    return;
  }
  plan = planSteps({ load: message.options, served, nowMs });
  scheduler = newScheduler(served, plan, message.options);
  const { contextLength, sequences: slots } = served.backend;
  const { vocabulary, libraryVersion } = served;
  const { probedMs } = plan;
  send({ kind: "loaded", model: { contextLength, slots, libraryVersion, probedMs, vocabulary } });
  reporter = newReporter(scheduler, { slots, capacityTokens: slots * contextLength });
  reporter.stepped(true);
}

function newScheduler(from: ServedContext, { backend, partition }: StepPlan, options: LoadOptions) {
  return new Scheduler({
    backend,
    partition,
    vocabulary: new TableVocabulary(from.vocabulary),
    padRows: from.padRows,
    rules: from.rules,
    reuseGenerated: from.reuseGenerated,
    bytesPerToken: from.bytesPerToken,
    idleBytesMax: options.prefixCacheBytesMax,
    queuedJobsMax: options.queuedJobsMax,
    nowMs,
    onEvent: (id, event) => outgoing.push({ id, event }),
    onEnded: (id) => outgoing.push({ id, ended: true }),
    onFailed: (id, reason) => {
      console.error(`error: ${reason}`);
      outgoing.push({ id, refused: "server", retry: { shouldRetry: false } });
    },
  });
}

async function tokenize(message: Extract<ToEngine, { kind: "tokenize" }>): Promise<void> {
  const { request, text, addSpecial, parseSpecial } = message;
  try {
    if (served === undefined) throw new Error("no model is loaded");
    const tokens = await served.tokenize(text, { addSpecial, parseSpecial });
    send({ kind: "tokens", request, tokens });
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    send({ kind: "tokenizeFailed", request, message: text });
  }
}

function submit({ id, job }: Extract<ToEngine, { kind: "run" }>): void {
  try {
    if (scheduler === undefined) throw new ApiError("server");
    scheduler.submit(id, job);
  } catch (error) {
    const known = error instanceof ApiError ? error : new ApiError("server", {}, { cause: error });
    if (known !== error) console.error(error);
    outgoing.push({ id, refused: known.errorName ?? "server", retry: known.retry });
    flush();
    return;
  }
  if (stepping) return;
  stepping = true;
  setImmediate(turn);
}

// An exception ends the process: the state of the library's sequences is then unknown. The server
// starts it again.
function turn(): void {
  if (scheduler === undefined) return;
  scheduler.step();
  stepping = !scheduler.idle;
  // Before the events: whoever has read an answer to its end finds it counted.
  reporter?.stepped(!stepping);
  flush();
  if (stepping) setImmediate(turn);
}

type EngineSize = Pick<EngineStats, "slots" | "capacityTokens">;

function newReporter(working: Scheduler, size: EngineSize): StatsReporter {
  return new StatsReporter({
    read: () => readStats(working, size),
    send: (stats) => send({ kind: "stats", stats }),
    nowMs,
  });
}

function readStats(working: Scheduler, size: EngineSize): EngineStats {
  const { counts, heldTokens, queuedJobs, runningCandidates, busySlots } = working;
  const { readTokens, cachedTokens, generatedTokens } = counts;
  const { user, system } = process.cpuUsage();
  return {
    ...size,
    queuedJobs,
    runningCandidates,
    busySlots,
    heldTokens: heldTokens.all,
    idleTokens: heldTokens.idle,
    threads: plan?.threads() ?? 1,
    residentBytes: process.memoryUsage.rss(),
    counts: { readTokens, cachedTokens, generatedTokens, cpuSeconds: (user + system) / 1e6 },
  };
}

function flush(): void {
  if (outgoing.length === 0) return;
  send({ kind: "events", events: outgoing });
  outgoing = [];
}

function send(message: FromEngine, sent?: () => void): void {
  process.send?.(message, undefined, {}, () => sent?.());
}
