import { expect, test } from "vitest";
import { countTests, summaryLine, type VitestReport } from "./test.ts";

function report(parts: Partial<VitestReport>): VitestReport {
  return {
    numPassedTests: 0,
    numFailedTests: 0,
    numPendingTests: 0,
    numTodoTests: 0,
    testResults: [],
    ...parts,
  };
}

test("passed, failed and skipped tests are counted as reported", () => {
  const counts = countTests(
    report({ numPassedTests: 7, numFailedTests: 2, numPendingTests: 1, numTodoTests: 3 }),
    1,
  );
  expect(counts).toEqual({ passed: 7, failed: 2, skipped: 4 });
});

test("a crash without a report is a failure", () => {
  expect(countTests(undefined, 1)).toEqual({ passed: 0, failed: 1, skipped: 0 });
  expect(countTests(undefined, 0).failed).toBe(1);
});

test("a test file that cannot be loaded is a failure", () => {
  const broken = { status: "failed", assertionResults: [] };
  const fine = { status: "passed", assertionResults: [{}] };
  expect(countTests(report({ numPassedTests: 1, testResults: [broken, fine] }), 1)).toEqual({
    passed: 1,
    failed: 1,
    skipped: 0,
  });
});

test("a bad exit code that no failed test explains is a failure", () => {
  expect(countTests(report({ numPassedTests: 5 }), 1).failed).toBe(1);
});

test("the last line names skipped tests only when there are some", () => {
  expect(summaryLine({ passed: 3, failed: 0, skipped: 0 })).toBe("3 passed, 0 failed");
  expect(summaryLine({ passed: 3, failed: 1, skipped: 2 })).toBe("3 passed, 1 failed, 2 skipped");
});
