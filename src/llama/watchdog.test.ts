import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Watchdog } from "./watchdog.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function watch({ silenceMs = 8_000, loadingMs = 60_000 } = {}) {
  const seen = { hung: [] as string[], asked: 0 };
  const state = { work: false, activity: undefined as string | undefined };
  const watchdog = new Watchdog({
    limits: { silenceMs, loadingMs },
    hasWork: () => state.work,
    ask: () => {
      seen.asked += 1;
    },
    activity: () => state.activity,
    onHung: (how) => seen.hung.push(how),
    nowMs: () => Date.now(),
  });
  return { watchdog, seen, state };
}

describe("a loaded engine", () => {
  test("without work may be silent for ever", () => {
    const { watchdog, seen } = watch();
    watchdog.loaded(0);
    vi.advanceTimersByTime(3_600_000);
    expect(seen).toEqual({ hung: [], asked: 0 });
  });

  test("is asked once when it falls silent, and hangs when it never answers", () => {
    const { watchdog, seen, state } = watch();
    watchdog.loaded(0);
    state.work = true;
    vi.advanceTimersByTime(5_000);
    expect(seen).toEqual({ hung: [], asked: 1 });
    vi.advanceTimersByTime(60_000);
    expect(seen).toEqual({ hung: ["gave no sign of life for 9 seconds"], asked: 1 });
  });

  test("lives as long as it answers, though its work takes hours", () => {
    const { watchdog, seen, state } = watch();
    watchdog.loaded(0);
    state.work = true;
    for (let minute = 0; minute < 600; minute += 1) {
      vi.advanceTimersByTime(6_000);
      watchdog.heard();
    }
    expect(seen.hung).toEqual([]);
    expect(seen.asked).toBe(600);
  });

  test("whose steps are slow from the start gets the time for them", () => {
    const { watchdog, seen, state } = watch();
    watchdog.loaded(30_000);
    state.work = true;
    vi.advanceTimersByTime(115_000);
    expect(seen.hung).toEqual([]);
    vi.advanceTimersByTime(20_000);
    expect(seen.hung).toHaveLength(1);
  });

  test("is not watched with a limit of 0, or when the watch has ended", () => {
    const off = watch({ silenceMs: 0 });
    const ended = watch();
    for (const { watchdog, state } of [off, ended]) {
      watchdog.loaded(0);
      state.work = true;
    }
    ended.watchdog.stop();
    vi.advanceTimersByTime(3_600_000);
    expect([off.seen.hung, ended.seen.hung]).toEqual([[], []]);
  });
});

describe("a loading engine", () => {
  test("that does nothing hangs", () => {
    const { seen, state } = watch();
    state.activity = "same";
    vi.advanceTimersByTime(30_000);
    expect(seen.hung).toEqual(["gave no sign of life for 9 seconds while it loaded the model"]);
  });

  test("that does something has more time, but not for ever", () => {
    const { seen, state } = watch();
    for (let second = 0; second < 55; second += 1) {
      state.activity = String(second);
      vi.advanceTimersByTime(1_000);
    }
    expect(seen.hung).toEqual([]);
    for (let second = 0; second < 10; second += 1) {
      state.activity = String(100 + second);
      vi.advanceTimersByTime(1_000);
    }
    expect(seen.hung).toEqual(["was not ready 60 seconds after its start"]);
  });

  test("of which the system tells nothing has the time for loading", () => {
    const { seen } = watch();
    vi.advanceTimersByTime(59_000);
    expect(seen.hung).toEqual([]);
    vi.advanceTimersByTime(5_000);
    expect(seen.hung).toHaveLength(1);
  });
});
