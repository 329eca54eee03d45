import { expect, test } from "vitest";
import { type CpuReading, FreeCores } from "./free-cores.ts";

test("what this process uses itself counts as free", () => {
  const readings: CpuReading[] = [
    { busySeconds: 100, ownSeconds: 10 },
    // In half a second 1.5 of 4 cores were busy, 1 of them with this process.
    { busySeconds: 100.75, ownSeconds: 10.5 },
  ];
  const free = new FreeCores(4, () => readings.shift());
  expect(free.get(0)).toBeUndefined();
  expect(free.get(500)).toBeCloseTo(3.5);
});

test("what others did while this process had nothing to do says nothing about now", () => {
  const readings: CpuReading[] = [
    { busySeconds: 100, ownSeconds: 10 },
    { busySeconds: 120, ownSeconds: 10 },
    { busySeconds: 120.5, ownSeconds: 10.4 },
  ];
  const free = new FreeCores(2, () => readings.shift());
  free.get(0);
  expect(free.get(10_000)).toBeUndefined();
  expect(free.get(10_100)).toBeUndefined();
  expect(free.get(10_500)).toBeCloseTo(1.8);
});

test("within a third of a second nothing is read again", () => {
  let reads = 0;
  const free = new FreeCores(2, () => {
    reads += 1;
    return { busySeconds: reads, ownSeconds: 0 };
  });
  free.get(0);
  for (let ms = 1; ms < 300; ms++) free.get(ms);
  expect(reads).toBe(1);
  free.get(300);
  expect(reads).toBe(2);
});

test("where the system does not tell it is not asked again", () => {
  let reads = 0;
  const free = new FreeCores(2, () => {
    reads += 1;
    return undefined;
  });
  for (const ms of [0, 1_000, 2_000]) expect(free.get(ms)).toBeUndefined();
  expect(reads).toBe(1);
});
