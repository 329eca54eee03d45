import { expect, test } from "vitest";
import { processEnd } from "./process-end.ts";

const facts = {
  code: null,
  signal: null,
  hung: undefined,
  memoryKills: [3, 3] as const,
  said: undefined,
};

test("an end by itself is a crash, with what it said", () => {
  const sentence = "The engine process exited with code 1 (it said: Error: odd).";
  expect(processEnd({ ...facts, code: 1, said: "Error: odd" })).toEqual({
    kind: "crash",
    sentence,
  });
  expect(processEnd({ ...facts, signal: "SIGBUS" }).kind).toBe("crash");
});

test("a kill is the system's when it ended something for memory meanwhile", () => {
  expect(processEnd({ ...facts, signal: "SIGKILL" }).kind).toBe("killed");
  const memory = processEnd({ ...facts, signal: "SIGKILL", memoryKills: [3, 4] });
  expect(memory).toEqual({
    kind: "out_of_memory",
    sentence: "The engine process was ended by the system, because memory ran out.",
  });
  expect(processEnd({ ...facts, signal: "SIGKILL", memoryKills: [undefined, 4] }).kind).toBe(
    "killed",
  );
});

test("a kill by the watchdog is a hang, whatever else happened", () => {
  const hung = "gave no sign of life for 60 seconds";
  const end = processEnd({ ...facts, signal: "SIGKILL", hung, memoryKills: [3, 4] });
  expect(end).toEqual({ kind: "hang", sentence: `The engine process ${hung} and was ended.` });
});
