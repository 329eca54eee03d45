/**
 * Lets one process at a time bring a file: a lock file beside it that names its holder and is
 * touched while the work goes on. A holder that died or fell silent loses the lock.
 */
import { randomUUID } from "node:crypto";
import { link, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { setTimeout as delay } from "node:timers/promises";

export interface LockTimes {
  readonly beatMs: number;
  /** A lock that was not touched for this long belongs to nobody. */
  readonly silenceMsMax: number;
  readonly pollMs: number;
}

const defaultTimes: LockTimes = { beatMs: 2_000, silenceMsMax: 60_000, pollMs: 250 };

export interface LockOptions {
  readonly signal: AbortSignal;
  /** Called once when another process holds the lock. */
  readonly onWait: () => void;
  readonly times?: LockTimes;
}

/** Runs `work` while no other process holds the lock `path`. Rejects when the signal aborts. */
export async function withFileLock<Result>(
  path: string,
  options: LockOptions,
  work: () => Promise<Result>,
): Promise<Result> {
  const times = options.times ?? defaultTimes;
  const owner = JSON.stringify({ pid: process.pid, host: hostname(), id: randomUUID() });
  let waited = false;
  while (!(await take(path, owner))) {
    await removeStale(path, times);
    if (!waited) options.onWait();
    waited = true;
    await delay(times.pollMs, undefined, { signal: options.signal });
  }
  const beat = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch(() => undefined);
  }, times.beatMs);
  beat.unref();
  try {
    return await work();
  } finally {
    clearInterval(beat);
    await release(path, owner);
  }
}

/** The owner's text is there in the same moment as the lock: nobody sees an empty one. */
async function take(path: string, owner: string): Promise<boolean> {
  const draft = `${path}.${process.pid}.${randomUUID()}`;
  try {
    await writeFile(draft, owner);
    await link(draft, path);
    return true;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "EEXIST") return false;
    if (code === "EPERM" || code === "ENOTSUP" || code === "EOPNOTSUPP") {
      return takeWithoutLinks(path, owner);
    }
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/** For file systems without hard links. */
async function takeWithoutLinks(path: string, owner: string): Promise<boolean> {
  try {
    await writeFile(path, owner, { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

async function release(path: string, owner: string): Promise<void> {
  const holder = await readFile(path, "utf8").catch(() => "");
  if (holder === owner) await rm(path, { force: true });
}

async function removeStale(path: string, times: LockTimes): Promise<void> {
  const holder = await readFile(path, "utf8").catch(() => undefined);
  const touched = await stat(path).catch(() => undefined);
  if (holder === undefined || touched === undefined) return;
  const silent = Date.now() - touched.mtimeMs > times.silenceMsMax;
  if (!silent && !isDead(holder)) return;
  const aside = `${path}.${process.pid}.${randomUUID()}`;
  try {
    await rename(path, aside);
    // Another waiter was quicker and this is the fresh lock of a third: it goes back.
    if ((await readFile(aside, "utf8")) !== holder) await link(aside, path);
    await rm(aside, { force: true });
  } catch {
    // Somebody else removed it.
  }
}

/** Whether the holder was a process of this machine that is no more. */
function isDead(holder: string): boolean {
  try {
    const { pid, host } = JSON.parse(holder) as { readonly pid: number; readonly host: string };
    if (host !== hostname()) return false;
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
}
