/** A bounded version of `npm run proof:engine-faults`. Linux only, as it looks for processes. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ServerProcess } from "../support/server-process.ts";
import { runFaults } from "./fault-run.ts";
import { startFaultServer } from "./fault-server.ts";

let server: ServerProcess;

beforeAll(async () => {
  server = await startFaultServer();
});

afterAll(async () => {
  expect(await server?.stop()).toBe(0);
});

const common = { clients: 4, seed: 7, deadlineMs: 30_000 };

test("killed engines: every request ends, and no text is wrong", async () => {
  const report = await runFaults({ ...common, server, signal: "SIGKILL", times: 6 });
  expect(report.findings).toEqual([]);
  expect(report.restarts).toBeGreaterThanOrEqual(6);
  expect(report.hangs).toBe(0);
  expect(report.outcomes.get("complete")).toBeGreaterThan(0);
});

test("stopped engines: every request ends, and no text is wrong", async () => {
  const report = await runFaults({ ...common, server, signal: "SIGSTOP", times: 3 });
  expect(report.findings).toEqual([]);
  expect(report.hangs).toBe(3);
});
