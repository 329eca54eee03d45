/**
 * `npm run proof:engine-faults -- --times 50 --seed N --model FILE`: kills the engine process that
 * many times, then stops it (SIGSTOP) as often, at random moments while requests of all kinds run,
 * on this machine only. Prints figures, and fails if a request hung or got a wrong text.
 */
import { parseArgs } from "node:util";
import { type FaultReport, runFaults } from "../test/faults/fault-run.ts";
import { startFaultServer } from "../test/faults/fault-server.ts";

const { values } = parseArgs({
  options: {
    times: { type: "string", default: "50" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    clients: { type: "string", default: "6" },
    model: { type: "string" },
  },
});
const times = Number(values.times);
const deadlineMs = 60_000;

function print(signal: string, report: FaultReport): void {
  const { outcomes, recoveryMs, whileLoading, restarts, hangs, findings } = report;
  const sorted = [...recoveryMs].sort((left, right) => left - right);
  const ms = (value: number | undefined) => `${Math.round(value ?? 0)} ms`;
  const counts = [...outcomes].sort().map(([kind, count]) => `${kind} ${count}`);
  const memory = (name: "server" | "engine") =>
    `${name} ${report.memoryBefore?.[name] ?? "?"} -> ${report.memoryAfter?.[name] ?? "?"} MB`;
  console.log(`${signal}: ${recoveryMs.length + whileLoading}, while loading ${whileLoading}`);
  console.log(`  restarts ${restarts}, counted as hangs ${hangs}`);
  console.log(`  requests ${counts.join(", ")}; slowest ${ms(report.slowestRequestMs)}`);
  const median = sorted[Math.floor(sorted.length / 2)];
  console.log(`  until the next answer: median ${ms(median)}, longest ${ms(sorted.at(-1))}`);
  console.log(`  memory ${memory("server")}, ${memory("engine")}`);
  console.log(`  hung requests, wrong texts and other findings: ${findings.length}`);
  for (const finding of findings.slice(0, 20)) console.log(`    ${finding.slice(0, 300)}`);
}

console.log(`seed ${values.seed}`);
const server = await startFaultServer(values.model === undefined ? [] : ["--model", values.model]);
try {
  for (const signal of ["SIGKILL", "SIGSTOP"] as const) {
    const report = await runFaults({
      server,
      signal,
      times,
      clients: Number(values.clients),
      seed: Number(values.seed),
      deadlineMs,
      onProgress: (done) => {
        if (done % 10 === 0) console.log(`  ${signal}: ${done} of ${times}`);
      },
    });
    print(signal, report);
    if (report.findings.length > 0) process.exitCode = 1;
  }
} finally {
  await server.stop();
}
