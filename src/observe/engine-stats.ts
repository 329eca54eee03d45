/** What an engine tells about its work: how things stand now, and counts that only grow. */

export interface EngineStats {
  /** Jobs that have no slot yet. */
  readonly queuedJobs: number;
  /** Candidates that are being generated. */
  readonly runningCandidates: number;
  readonly busySlots: number;
  readonly slots: number;
  /** Tokens that all sequences hold together, and how many they could hold. */
  readonly heldTokens: number;
  readonly capacityTokens: number;
  /** Of the tokens held, those in sequences that nobody uses: kept for later prompts. */
  readonly idleTokens: number;
  /** Threads that the last call computed with; 0: there is no engine. */
  readonly threads: number;
  /** Memory of the engine's process. */
  readonly residentBytes: number;
  readonly counts: EngineCounts;
}

/** Since the engine was first started; a new process goes on counting where the old one ended. */
export interface EngineCounts {
  /** Prompt tokens that were computed. */
  readonly readTokens: number;
  /** Prompt tokens that an earlier prompt spared. */
  readonly cachedTokens: number;
  /** Tokens of all candidates, returned or not. */
  readonly generatedTokens: number;
  /** Processor time of the engine's process. */
  readonly cpuSeconds: number;
}

export const zeroCounts: EngineCounts = {
  readTokens: 0,
  cachedTokens: 0,
  generatedTokens: 0,
  cpuSeconds: 0,
};

export function addCounts(left: EngineCounts, right: EngineCounts): EngineCounts {
  return {
    readTokens: left.readTokens + right.readTokens,
    cachedTokens: left.cachedTokens + right.cachedTokens,
    generatedTokens: left.generatedTokens + right.generatedTokens,
    cpuSeconds: left.cpuSeconds + right.cpuSeconds,
  };
}

/** Of an engine that does nothing, or whose process is gone: only what it counted stays. */
export function restingStats(
  size: Pick<EngineStats, "slots" | "capacityTokens">,
  counts: EngineCounts,
): EngineStats {
  const { slots, capacityTokens } = size;
  return {
    queuedJobs: 0,
    runningCandidates: 0,
    busySlots: 0,
    slots,
    heldTokens: 0,
    capacityTokens,
    idleTokens: 0,
    threads: 0,
    residentBytes: 0,
    counts,
  };
}
