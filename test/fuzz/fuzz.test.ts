/** A bounded, seeded part of `npm run proof:malformed`: the same few hundred cases each time. */
import { expect, test } from "vitest";
import { runFuzz } from "./fuzz-run.ts";
import { fuzzTargets, startTarget } from "./fuzz-servers.ts";

const seed = 20_260_901;
const casesEach = 200;

test.for(fuzzTargets.map((target, place) => ({ ...target, place })))(
  "nothing sent to the $name server brings a 5xx, a hang, a crash or a malformed answer",
  async (target) => {
    const server = await startTarget(target);
    try {
      const report = await runFuzz({
        server,
        seed,
        first: target.place * casesEach,
        count: casesEach,
        concurrency: 4,
        msMax: Number.POSITIVE_INFINITY,
      });
      expect(report.findings.map(({ index, problem }) => `case ${index}: ${problem}`)).toEqual([]);
      expect(report.sent).toBe(casesEach);
    } finally {
      await server.stop();
    }
  },
);
