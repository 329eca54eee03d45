import { describe, expect, test } from "vitest";
import { SilenceMeter } from "./silence-meter.ts";

const everyMs = 1_000;

function meterAt(limitMs = 10_000) {
  let nowMs = 0;
  const meter = new SilenceMeter({ limitMs, lookEveryMs: everyMs, nowMs });
  const pass = (timeMs: number, waiting = true) => {
    for (let left = timeMs; left > 0; left -= everyMs) {
      nowMs += everyMs;
      meter.look(nowMs, waiting);
    }
  };
  const jump = (timeMs: number) => {
    nowMs += timeMs;
    return meter.look(nowMs, true);
  };
  return { meter, pass, jump };
}

describe("silence", () => {
  test("becomes too long after the limit, not before", () => {
    const { meter, pass } = meterAt();
    pass(11_000); // the first look only begins to listen
    expect(meter.tooLong).toBe(false);
    pass(1_000);
    expect(meter.tooLong).toBe(true);
  });

  test("ends with a sign of life", () => {
    const { meter, pass } = meterAt();
    pass(11_000);
    meter.heard();
    pass(10_000);
    expect(meter.tooLong).toBe(false);
  });

  test("of an idle engine is none", () => {
    const { meter, pass } = meterAt();
    pass(100_000, false);
    pass(1_000);
    expect(meter.silentMs).toBe(0);
  });

  test("begins anew after whoever looks was away", () => {
    const { meter, pass, jump } = meterAt();
    pass(10_000);
    expect(jump(3_600_000)).toBe(0);
    expect(meter.tooLong).toBe(false);
    pass(10_000);
    expect(meter.tooLong).toBe(false);
    pass(1_000);
    expect(meter.tooLong).toBe(true);
  });

  test("counts looks that come a little late in full", () => {
    const { meter, jump } = meterAt();
    jump(1_000);
    jump(1_900);
    expect(meter.silentMs).toBe(1_900);
  });
});

describe("the limit", () => {
  test("is four times the longest harmless silence of late", () => {
    const { meter, pass } = meterAt(5_000);
    expect(meter.limitMs).toBe(5_000);
    pass(4_000);
    meter.heard();
    expect(meter.limitMs).toBe(12_000);
    meter.learn(20_000);
    expect(meter.limitMs).toBe(80_000);
  });

  test("is the set one again when steps have long been quick", () => {
    const { meter, pass } = meterAt(5_000);
    meter.learn(20_000);
    for (let minute = 0; minute < 9; minute += 1) {
      pass(60_000, true);
      meter.heard();
    }
    // Those silences of a minute count too.
    expect(meter.limitMs).toBe(4 * 59_000);
    for (let second = 0; second < 1_300; second += 1) {
      meter.heard();
      pass(1_000);
    }
    expect(meter.limitMs).toBe(5_000);
  });
});
