/**
 * `npm run proof:fuzz -- --count 20000 --seed N --minutes 30`: malformed, contradictory and valid
 * requests against the server, on this machine only. Prints figures, writes what went wrong to a
 * folder, and fails if anything did. `--only I` repeats case I of a seed.
 */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Finding, type FuzzReport, runFuzz } from "../test/fuzz/fuzz-run.ts";
import { type FuzzTarget, fuzzTargets, startTarget } from "../test/fuzz/fuzz-servers.ts";

const { values } = parseArgs({
  options: {
    count: { type: "string", default: "20000" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    minutes: { type: "string", default: "30" },
    concurrency: { type: "string", default: "6" },
    only: { type: "string" },
  },
});
const seed = Number(values.seed);
const count = values.only === undefined ? Number(values.count) : fuzzTargets.length;
const minutes = Number(values.minutes);
const printEvery = 1000;

async function proveTarget(target: FuzzTarget, place: number): Promise<FuzzReport> {
  const share = Math.ceil(count / fuzzTargets.length);
  const server = await startTarget(target);
  try {
    return await runFuzz({
      server,
      seed,
      first: values.only === undefined ? place * share : Number(values.only),
      count: share,
      concurrency: Number(values.concurrency),
      msMax: (minutes / fuzzTargets.length) * 60_000,
      onProgress: (done) => {
        if (done % printEvery === 0) console.log(`  ${target.variant}: ${done} of ${share}`);
      },
    });
  } finally {
    await server.stop();
  }
}

function print(target: FuzzTarget, report: FuzzReport): void {
  const { sent, requests, statuses, slowestMs, slowestCase, memoryBefore, memoryAfter } = report;
  const byStatus = [...statuses].sort().map(([status, times]) => `${status}: ${times}`);
  const memory = (name: "server" | "engine") =>
    `${name} ${memoryBefore?.[name] ?? "?"} -> ${memoryAfter?.[name] ?? "?"} MB`;
  console.log(`${target.variant} ${target.options.join(" ")}`);
  console.log(`  connections ${sent}, requests ${requests}, answers ${byStatus.join(", ")}`);
  console.log(`  slowest ${Math.round(slowestMs)} ms (case ${slowestCase})`);
  console.log(`  memory ${memory("server")}, ${memory("engine")}`);
  console.log(`  violations ${report.findings.length}`);
}

/** One file for each finding, with the bytes as they were sent. */
function writeFindings(findings: readonly Finding[]): void {
  const folder = mkdtempSync(join(tmpdir(), "completionist-fuzz-"));
  for (const [place, { index, problem, fuzzCase }] of findings.entries()) {
    console.log(`  case ${index}: ${problem}`);
    const steps = fuzzCase?.delivery.steps.map((step) =>
      step.kind === "send" ? { send: step.bytes.toString("latin1") } : step,
    );
    const requests = fuzzCase?.requests.map(({ body, ...request }) => ({
      ...request,
      body: body.toString("latin1"),
    }));
    const text = JSON.stringify({ seed, index, problem, requests, steps }, null, 2);
    writeFileSync(join(folder, `${place}-case-${index}.json`), text);
  }
  console.log(`The offending cases are in ${folder} (bytes as Latin-1).`);
}

console.log(`seed ${seed}`);
const findings: Finding[] = [];
for (const [place, target] of fuzzTargets.entries()) {
  const report = await proveTarget(target, place);
  print(target, report);
  findings.push(...report.findings);
}
if (findings.length > 0) {
  writeFindings(findings);
  process.exitCode = 1;
}
