/**
 * The one test command: build, types, lint, import rule, then every test. Each of the first four
 * counts as one test. The last line is `N passed, N failed`, and nothing else decides the exit
 * code. Arguments go to vitest (`npm test -- src/text` runs these tests only, after the checks).
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** The part of vitest's JSON report that is counted. */
export interface VitestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly {
    readonly status: string;
    readonly assertionResults: readonly unknown[];
  }[];
}

const root = resolve(import.meta.dirname, "..");
const modules = join(root, "node_modules");

const steps: readonly { readonly name: string; readonly command: readonly string[] }[] = [
  { name: "build", command: ["scripts/build.ts"] },
  { name: "types", command: [join(modules, "typescript", "bin", "tsc"), "--noEmit"] },
  {
    name: "lint",
    command: [
      join(modules, "@biomejs", "biome", "bin", "biome"),
      "check",
      "--error-on-warnings",
      ".",
    ],
  },
  { name: "imports", command: ["scripts/check-imports.ts"] },
];

/**
 * What vitest's report and exit code come to. A file that could not be loaded counts as one failed
 * test, and so does a bad exit code that no failed test explains (a crash, an unhandled error).
 */
export function countTests(report: VitestReport | undefined, exitCode: number): Counts {
  if (report === undefined) return { passed: 0, failed: 1, skipped: 0 };
  const brokenFiles = report.testResults.filter(
    (file) => file.status === "failed" && file.assertionResults.length === 0,
  ).length;
  const failed = report.numFailedTests + brokenFiles;
  return {
    passed: report.numPassedTests,
    failed: failed === 0 && exitCode !== 0 ? 1 : failed,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

/** The last line of the test command. */
export function summaryLine(counts: Counts): string {
  const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : "";
  return `${counts.passed} passed, ${counts.failed} failed${skipped}`;
}

/** Runs a script on this Node with its output passed on; the exit code, 1 for a signal. */
function runNode(command: readonly string[]): Promise<number> {
  return new Promise((settle) => {
    const child = spawn(process.execPath, command, {
      cwd: root,
      // Both streams go one way, so that the last line written is the last line read.
      stdio: ["ignore", "inherit", 1],
      env: {
        ...process.env,
        PATH: `${join(modules, ".bin")}${process.platform === "win32" ? ";" : ":"}${process.env.PATH}`,
      },
    });
    child.on("error", () => settle(1));
    child.on("close", (code) => settle(code ?? 1));
  });
}

async function runVitest(filters: readonly string[]): Promise<Counts> {
  const folder = mkdtempSync(join(tmpdir(), "completionist-test-"));
  const reportFile = join(folder, "report.json");
  try {
    const exitCode = await runNode([
      join(modules, "vitest", "vitest.mjs"),
      "run",
      "--reporter=default",
      "--reporter=json",
      `--outputFile.json=${reportFile}`,
      ...filters,
    ]);
    return countTests(readReport(reportFile), exitCode);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readReport(file: string): VitestReport | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as VitestReport;
  } catch {
    return undefined;
  }
}

async function main(): Promise<void> {
  const failedSteps: string[] = [];
  for (const step of steps) {
    process.stdout.write(`\n--- ${step.name}\n`);
    if ((await runNode(step.command)) !== 0) failedSteps.push(step.name);
  }
  process.stdout.write("\n--- tests\n");
  const tests = await runVitest(process.argv.slice(2));
  for (const name of failedSteps) process.stdout.write(`FAILED: ${name}\n`);
  const total: Counts = {
    passed: tests.passed + steps.length - failedSteps.length,
    failed: tests.failed + failedSteps.length,
    skipped: tests.skipped,
  };
  process.stdout.write(`${summaryLine(total)}\n`);
  process.exitCode = total.failed > 0 ? 1 : 0;
}

if (import.meta.main) await main();
