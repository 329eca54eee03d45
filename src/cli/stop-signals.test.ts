import { EventEmitter } from "node:events";
import { describe, expect, test } from "vitest";
import { signalExitCode, watchStopSignals } from "./stop-signals.ts";

function watch() {
  const source = new EventEmitter();
  const exits: number[] = [];
  const clock = { ms: 0 };
  const signals = watchStopSignals(source, {
    exit: (code) => exits.push(code),
    nowMs: () => clock.ms,
  });
  return { source, exits, clock, signals };
}

describe.each<["SIGINT" | "SIGTERM", number]>([
  ["SIGINT", 130],
  ["SIGTERM", 143],
])("%s", (name, code) => {
  test("asks to stop at first", () => {
    const { source, exits, signals } = watch();
    expect(signals.stopped.aborted).toBe(false);
    source.emit(name, name);
    expect(signals.stopped.aborted).toBe(true);
    expect(signals.signal).toBe(name);
    expect(exits).toEqual([]);
  });

  test("ends the program when it comes a second time", () => {
    const { source, exits, clock } = watch();
    source.emit(name, name);
    clock.ms = 3_000;
    source.emit(name, name);
    expect(exits).toEqual([code]);
    expect(signalExitCode(name)).toBe(code);
  });
});

test("the copy that npm passes on right after the terminal's is no second wish", () => {
  const { source, exits, clock } = watch();
  source.emit("SIGINT", "SIGINT");
  clock.ms = 20;
  source.emit("SIGINT", "SIGINT");
  expect(exits).toEqual([]);
});

test("after dispose the program's own behaviour is back", () => {
  const { source, signals } = watch();
  signals.dispose();
  expect(source.listenerCount("SIGINT") + source.listenerCount("SIGTERM")).toBe(0);
});
