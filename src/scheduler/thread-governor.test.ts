import { describe, expect, test } from "vitest";
import { SimulatedCores } from "./testing/simulated-cores.ts";
import { ThreadGovernor } from "./thread-governor.ts";
import type { Work } from "./work-class.ts";

const decode: Work = { rows: 1, sequences: 1, outputs: 1, position: 100 };
const prompt: Work = { rows: 256, sequences: 1, outputs: 0, position: 128 };
const minuteMs = 60_000;

describe("on two cores", () => {
  test("it starts with one and takes the second when nobody else runs", () => {
    const machine = new SimulatedCores({ cores: 2 });
    const governor = new ThreadGovernor({ cores: 2 });
    expect(governor.choose(decode, 0)).toBe(1);
    machine.run(governor, decode, 2_000);
    expect(machine.run(governor, decode, minuteMs)).toBeGreaterThan(0.98 * machine.best(decode));
    expect(governor.threads).toBe(2);
  });

  test.each([0.3, 1, 2])("beside %s busy cores it stays at one", (busy) => {
    const machine = new SimulatedCores({ cores: 2 });
    machine.busy = busy;
    const governor = new ThreadGovernor({ cores: 2 });
    expect(machine.run(governor, decode, minuteMs)).toBeGreaterThan(0.99 * machine.best(decode));
  });

  test("one call that is kept waiting is enough to fall back", () => {
    const machine = new SimulatedCores({ cores: 2 });
    const governor = new ThreadGovernor({ cores: 2 });
    machine.run(governor, decode, 5_000);
    machine.busy = 1;
    machine.run(governor, decode, 1);
    expect(governor.choose(decode, machine.nowMs)).toBe(1);
  });

  test("without knowing of others its attempts cost a hundredth, more or less", () => {
    const machine = new SimulatedCores({ cores: 2, tellsFreeCores: false });
    machine.busy = 1;
    const governor = new ThreadGovernor({ cores: 2 });
    const speed = machine.run(governor, decode, 10 * minuteMs);
    expect(speed).toBeGreaterThan(0.985 * machine.best(decode));
  });

  test("a neighbour that comes and goes costs little in either phase", () => {
    const machine = new SimulatedCores({ cores: 2, tellsFreeCores: false });
    const governor = new ThreadGovernor({ cores: 2 });
    machine.run(governor, decode, 5_000);
    const shares: number[] = [];
    for (const busy of [1, 0, 2, 0, 1, 0, 0.3, 0]) {
      machine.busy = busy;
      const best = machine.best(decode);
      shares.push(machine.run(governor, decode, 3 * minuteMs) / best);
    }
    expect(Math.min(...shares)).toBeGreaterThan(0.93);
  });

  test("a neighbour that is seen to leave is forgotten within a second", () => {
    const machine = new SimulatedCores({ cores: 2 });
    const governor = new ThreadGovernor({ cores: 2 });
    machine.run(governor, decode, 5_000);
    for (let round = 0; round < 8; round++) {
      machine.busy = 1;
      machine.run(governor, decode, 20_000);
      machine.busy = 0;
      machine.run(governor, decode, 10_000);
    }
    machine.busy = 2;
    machine.run(governor, decode, 20_000);
    machine.busy = 0;
    machine.run(governor, decode, 1_000);
    expect(governor.threads).toBe(2);
  });

  test("a call that was slow although nobody took a core counts as a failed attempt", () => {
    const machine = new SimulatedCores({ cores: 2 });
    const governor = new ThreadGovernor({ cores: 2 });
    machine.run(governor, decode, 5_000);
    governor.choose(decode, machine.nowMs, 2);
    governor.record(decode, 2, 400, machine.nowMs);
    machine.run(governor, decode, 1_000);
    expect(governor.threads).toBe(1);
  });

  test("a call that took three times as long is chance, two are not", () => {
    const machine = new SimulatedCores({ cores: 2 });
    const governor = new ThreadGovernor({ cores: 2 });
    machine.run(governor, decode, 5_000);
    const slowly = () => {
      governor.choose(decode, machine.nowMs, 2);
      governor.record(decode, 2, 24, machine.nowMs);
    };
    slowly();
    expect(governor.choose(decode, machine.nowMs, 2)).toBe(2);
    machine.run(governor, decode, 1_000);
    slowly();
    slowly();
    expect(governor.choose(decode, machine.nowMs, 2)).toBe(1);
  });

  test("generating and reading a prompt have thread numbers of their own", () => {
    // As measured on some models: the second thread makes a single row slower.
    const speedUp = (threads: number, { rows }: Work) =>
      threads === 1 ? 1 : rows === 1 ? 0.9 : 1.5;
    const machine = new SimulatedCores({ cores: 2, speedUp });
    const governor = new ThreadGovernor({ cores: 2 });
    for (let round = 0; round < 20; round++) {
      machine.run(governor, prompt, 1_000);
      machine.run(governor, decode, 1_000);
    }
    expect(governor.choose(prompt, machine.nowMs)).toBe(2);
    expect(governor.choose(decode, machine.nowMs)).toBe(1);
    expect(machine.run(governor, decode, minuteMs)).toBeGreaterThan(0.97 * machine.best(decode));
    expect(machine.run(governor, prompt, minuteMs)).toBeGreaterThan(0.97 * machine.best(prompt));
  });
});

describe("on sixteen cores", () => {
  const speedUp = (threads: number) => Math.min(threads, 8) - 0.05 * Math.max(0, threads - 8);

  test.each([0, 1, 3, 8])("beside %s busy ones it comes near the best", (busy) => {
    const machine = new SimulatedCores({ cores: 16, speedUp });
    machine.busy = busy;
    const governor = new ThreadGovernor({ cores: 16 });
    machine.run(governor, decode, 2 * minuteMs);
    const speed = machine.run(governor, decode, 2 * minuteMs);
    expect(speed).toBeGreaterThan(0.9 * machine.best(decode));
  });
});

test("on one core there is nothing to choose", () => {
  const machine = new SimulatedCores({ cores: 1 });
  const governor = new ThreadGovernor({ cores: 1 });
  machine.run(governor, decode, 5_000);
  expect(governor.choose(decode, machine.nowMs)).toBe(1);
});

test("work that really has become dearer is no reason to stay at one thread", () => {
  const machine = new SimulatedCores({ cores: 2, tellsFreeCores: false });
  const governor = new ThreadGovernor({ cores: 2 });
  machine.run(governor, decode, 5_000);
  const slow = { ...decode, position: 200 };
  const slower = new SimulatedCores({ cores: 2, speedUp: (threads) => 0.25 + 0.05 * threads });
  slower.nowMs = machine.nowMs;
  slower.run(governor, slow, 2 * minuteMs);
  const speed = slower.run(governor, slow, minuteMs);
  expect(speed).toBeGreaterThan(0.97 * slower.best(slow));
});
