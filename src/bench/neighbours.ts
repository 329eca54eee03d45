/** Busy neighbours for the time of one measurement. */
import { type ChildProcess, fork } from "node:child_process";
import { childEntry } from "../llama/child-entry.ts";
import { keepChild } from "./children.ts";

/** Does the work beside `count` processes that each use up a core; they are gone afterwards. */
export async function besideNeighbours<Result>(
  count: number,
  work: () => Promise<Result>,
): Promise<Result> {
  const neighbours = Array.from({ length: count }, startNeighbour);
  try {
    await Promise.all(neighbours.map(({ started }) => started));
    return await work();
  } finally {
    await Promise.all(neighbours.map(stop));
  }
}

interface Neighbour {
  readonly process: ChildProcess;
  readonly started: Promise<void>;
  readonly ended: Promise<void>;
}

function startNeighbour(): Neighbour {
  const child = fork(childEntry("neighbour", import.meta.url), [], {
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  keepChild(child);
  const ended = new Promise<void>((resolve) => {
    child.once("error", () => resolve());
    child.once("exit", () => resolve());
  });
  const spawned = new Promise<void>((resolve) => child.once("spawn", () => resolve()));
  return { process: child, started: Promise.race([spawned, ended]), ended };
}

async function stop({ process: child, ended }: Neighbour): Promise<void> {
  child.kill("SIGKILL");
  await ended;
}
