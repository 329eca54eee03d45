/**
 * `npm run proof:malformed -- --requests 100000 --seed N --minutes 60`: malformed, contradictory and
 * valid requests against servers with and without keys, on this machine only. Prints figures, writes
 * what went wrong to a folder, and fails if anything did. `--only I` repeats case I of a seed.
 */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Finding, type FuzzReport, runFuzz } from "../test/fuzz/fuzz-run.ts";
import { type FuzzTarget, fuzzTargets, startTarget } from "../test/fuzz/fuzz-servers.ts";
import { printPart } from "../test/proofs/figures.ts";

const { values } = parseArgs({
  options: {
    requests: { type: "string", default: "100000" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    minutes: { type: "string", default: "60" },
    concurrency: { type: "string", default: "8" },
    only: { type: "string" },
  },
});
const seed = Number(values.seed);
const requests = values.only === undefined ? Number(values.requests) : fuzzTargets.length;
const minutes = Number(values.minutes);
const printEvery = 5000;

async function proveTarget(target: FuzzTarget, place: number): Promise<FuzzReport> {
  const share = Math.ceil(requests / fuzzTargets.length);
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
        if (done % printEvery === 0) console.log(`  ${target.name}: ${done} of ${share}`);
      },
    });
  } finally {
    await server.stop();
  }
}

function print(target: FuzzTarget, report: FuzzReport): void {
  const { sent, requests, statuses, slowestMs, slowestCase, memory, ledger } = report;
  const byStatus = [...statuses].sort().map(([status, times]) => `${status}: ${times}`);
  const megabytes = (name: "server" | "engine") => memory.map((each) => each[name]).join(", ");
  printPart({
    title: `${target.name}: the ${target.variant} model ${target.options.join(" ")}`,
    figures: [
      ["connections", sent],
      ["requests", requests],
      ["answers", byStatus.join(", ")],
      ["slowest", `${Math.round(slowestMs)} ms (case ${slowestCase})`],
      ["MB of the server, each tenth", megabytes("server")],
      ["MB of the engine, each tenth", megabytes("engine")],
      ["rows of the ledger", `${ledger.rows}, ${ledger.unheard} of them without an answer`],
    ],
    violations: report.findings.map(({ index, problem }) => `case ${index}: ${problem}`),
  });
}

/** One file for each finding, with the bytes as they were sent. */
function writeFindings(findings: readonly Finding[]): void {
  const folder = mkdtempSync(join(tmpdir(), "completionist-fuzz-"));
  for (const [place, { index, problem, fuzzCase }] of findings.entries()) {
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
let connections = 0;
for (const [place, target] of fuzzTargets.entries()) {
  const report = await proveTarget(target, place);
  print(target, report);
  findings.push(...report.findings);
  connections += report.sent;
}
console.log(`${connections} connections, ${findings.length} violations`);
if (findings.length > 0) writeFindings(findings);
