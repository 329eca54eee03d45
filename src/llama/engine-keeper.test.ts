import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { deathsMax, EngineKeeper, type KeptProcess, keeperTimes } from "./engine-keeper.ts";
import type { ProcessEnd } from "./process-end.ts";

const silent = () => undefined;
const log = { debug: silent, info: silent, warn: silent, error: silent };
const crash: ProcessEnd = { kind: "crash", sentence: "The engine process exited with code 1." };
const killed: ProcessEnd = { kind: "killed", sentence: "The engine process was ended by SIGKILL." };

class FakeProcess implements KeptProcess {
  readonly pid = 1;
  hasServed = false;
  readonly #ended = Promise.withResolvers<ProcessEnd>();
  readonly #loaded = Promise.withResolvers<void>();

  constructor() {
    this.#loaded.promise.catch(silent);
  }

  get ended() {
    return this.#ended.promise;
  }

  loaded() {
    return this.#loaded.promise;
  }

  load() {
    this.#loaded.resolve();
  }

  stop() {
    this.die(killed);
  }

  die(end = crash) {
    this.#loaded.reject(new Error(end.sentence));
    this.#ended.resolve(end);
  }
}

/** `atStart` decides what becomes of each process that the keeper starts. */
function keep(atStart: (process: FakeProcess) => void, waitingMax = 10) {
  const first = new FakeProcess();
  first.load();
  const started: FakeProcess[] = [];
  const files = { state: "a", problem: undefined as Error | undefined };
  const keeper = new EngineKeeper<FakeProcess>(
    {
      start: () => {
        const process = new FakeProcess();
        started.push(process);
        atStart(process);
        return process;
      },
      checkFiles: async () => {
        if (files.problem !== undefined) throw files.problem;
      },
      filesState: async () => files.state,
      waitingMax,
      onEnded: silent,
      log,
    },
    first,
  );
  return { keeper, first, started, files };
}

const never = new AbortController().signal;
const settle = () => vi.advanceTimersByTimeAsync(0);

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Timers that give promises are not faked: they are put on those that are. */
vi.mock("node:timers/promises", () => ({
  setTimeout: (timeoutMs: number, _: unknown, { signal }: { signal: AbortSignal }) =>
    new Promise((resolve, reject) => {
      setTimeout(resolve, timeoutMs);
      signal.addEventListener("abort", () => reject(signal.reason));
    }),
}));

describe("a process that ends", () => {
  test("is replaced at once, and who waits gets the new one", async () => {
    const { keeper, first, started } = keep((process) => process.load());
    first.die();
    await settle();
    expect(await keeper.ready(never)).toBe(started[0]);
    expect(keeper.state()).toMatchObject({
      state: "ready",
      restarts: 1,
      faults: { crash: 1, hang: 0 },
      lastFault: crash.sentence,
    });
  });

  test("again and again is replaced ever later, and then fails", async () => {
    const { keeper, first, started } = keep((process) => process.die());
    first.die();
    await settle();
    expect(started).toHaveLength(1);
    const waiting = keeper.ready(never);
    waiting.catch(silent);
    for (const [pauseMs, starts] of [
      [500, 2],
      [1_000, 3],
      [2_000, 4],
    ] as const) {
      await vi.advanceTimersByTimeAsync(pauseMs - 1);
      expect(started).toHaveLength(starts - 1);
      await vi.advanceTimersByTimeAsync(1);
      expect(started).toHaveLength(starts);
    }
    await vi.advanceTimersByTimeAsync(4_000);
    expect(started).toHaveLength(deathsMax);
    await expect(waiting).rejects.toMatchObject({
      errorName: "modelFailed",
      message: "The model could not be loaded: The engine process exited with code 1.",
      retry: { shouldRetry: false },
    });
    await expect(keeper.ready(never)).rejects.toMatchObject({ errorName: "modelFailed" });
    expect(keeper.state()).toMatchObject({ state: "failed", reason: crash.sentence });
  });

  test("after having served never fails for good", async () => {
    const { keeper, first, started } = keep((process) => process.load());
    first.hasServed = true;
    first.die();
    for (let death = 0; death < 3 * deathsMax; death += 1) {
      await settle();
      const process = started.at(-1) as FakeProcess;
      process.hasServed = true;
      process.die();
    }
    await settle();
    expect(keeper.state()).toMatchObject({ state: "ready", restarts: 3 * deathsMax + 1 });
  });
});

describe("a failed model", () => {
  async function failed() {
    let dies = true;
    const kept = keep((process) => (dies ? process.die() : process.load()));
    kept.first.die();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(kept.keeper.state().state).toBe("failed");
    return { ...kept, mend: () => (dies = false) };
  }

  test("is tried again every two minutes", async () => {
    const { keeper, started, mend } = await failed();
    await vi.advanceTimersByTimeAsync(keeperTimes.retryMs);
    expect(started).toHaveLength(deathsMax + 1);
    expect(keeper.state().state).toBe("failed");
    mend();
    await vi.advanceTimersByTimeAsync(keeperTimes.retryMs);
    expect(keeper.state().state).toBe("ready");
    expect(await keeper.ready(never)).toBe(started.at(-1));
  });

  test("is tried again when its file changes", async () => {
    const { keeper, files, mend } = await failed();
    mend();
    files.state = "b";
    await vi.advanceTimersByTimeAsync(keeperTimes.fileCheckMs);
    expect(keeper.state().state).toBe("ready");
    expect(keeper.state().reason).toBeUndefined();
  });

  test("stays failed when the file is another one, and says so", async () => {
    const { keeper, files, mend } = await failed();
    mend();
    files.state = "b";
    files.problem = new Error("The model file x is no longer the one that was served.");
    await vi.advanceTimersByTimeAsync(keeperTimes.fileCheckMs);
    expect(keeper.state()).toMatchObject({ state: "failed", reason: files.problem.message });
    await expect(keeper.ready(never)).rejects.toThrow("no longer the one");
  });

  test("is left alone once closed", async () => {
    const { keeper, started } = await failed();
    await keeper.close();
    await vi.advanceTimersByTimeAsync(10 * keeperTimes.retryMs);
    expect(started).toHaveLength(deathsMax);
    await expect(keeper.ready(never)).rejects.toMatchObject({ errorName: "shuttingDown" });
  });
});

describe("waiting for a process that starts", () => {
  test("ends with the caller's signal at once", async () => {
    const { keeper, first } = keep(silent);
    first.die();
    await settle();
    const caller = new AbortController();
    const waiting = keeper.ready(caller.signal);
    caller.abort(new Error("out of time"));
    await expect(waiting).rejects.toThrow("out of time");
  });

  test("has a limit, above which callers are told to come later", async () => {
    const { keeper, first, started } = keep(silent, 2);
    first.die();
    await settle();
    const waiting = [keeper.ready(never), keeper.ready(never)];
    await expect(keeper.ready(never)).rejects.toMatchObject({
      errorName: "overloaded",
      retry: { shouldRetry: true },
    });
    started[0]?.load();
    expect(await Promise.all(waiting)).toEqual([started[0], started[0]]);
    expect(await keeper.ready(never)).toBe(started[0]);
  });

  test.each([
    ["loads", silent],
    ["is waited for before a next try", (process: FakeProcess) => process.die()],
  ])("ends when the engine is closed while the process %s", async (_, atStart) => {
    const { keeper, first } = keep(atStart);
    first.die();
    await settle();
    const waiting = keeper.ready(never);
    const refused = expect(waiting).rejects.toMatchObject({ errorName: "shuttingDown" });
    await keeper.close();
    await refused;
  });
});
