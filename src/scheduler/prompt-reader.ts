/**
 * Reads prompts into their slots, one chunk a step, and scores prompt tokens on the way.
 *
 * Row i of a chunk that starts at `read` holds prompt token read + i; its logits tell the
 * probability of the token after it:
 *
 *   row        0          1          ...   count - 1
 *   token      read       read + 1         read + count - 1
 *   scores     read + 1   read + 2         read + count (in the next chunk, or generated)
 */
import { scoreToken } from "../sampling/score.ts";
import type { Row } from "./backend.ts";
import { padding } from "./padding.ts";
import { chunkRows, type RowBudget } from "./prompt-rows.ts";
import type { SequenceCache } from "./sequence-cache.ts";
import type { Slot } from "./slot.ts";
import { type Task, wantsLogits } from "./task.ts";

export interface PromptReaderOptions {
  readonly cache: SequenceCache;
  readonly budget: RowBudget;
  readonly padRows: boolean;
  readonly nowMs: () => number;
}

export class PromptReader {
  readonly #options: PromptReaderOptions;

  constructor(options: PromptReaderOptions) {
    this.#options = options;
  }

  /**
   * Reads the next chunk, of about `targetMs` of work, and gives the number of its rows. After the last chunk the slot holds the
   * logits of the last row, if the job goes on from there.
   */
  readChunk(task: Task, targetMs: number): number {
    const { cache, budget, padRows, nowMs } = this.#options;
    const { job, slot } = task;
    if (slot === undefined) throw new Error("a prompt is read into a slot");
    const kind = job.scoreFrom === undefined ? "plain" : "scored";
    const wanted = budget.rows(kind, targetMs);
    const count = chunkRows(job.prompt.length - task.read, wanted);
    const rows = promptRows(task, slot, count);
    const isLone = count === 1;
    if (isLone && padRows) rows.push(padding(rows[0] as Row));
    const startMs = nowMs();
    cache.decode(rows);
    this.#score(task, slot, count);
    budget.record(kind, count, nowMs() - startMs);
    task.read += count;
    cache.cut(slot, task.read);
    // A row computed alone has bits of its own, so it may not begin another prompt.
    if (!isLone || padRows) slot.promptLength = task.read;
    if (task.read === job.prompt.length && job.maxTokens > 0) this.#keepLastRow(task, slot, count);
    return count;
  }

  #keepLastRow(task: Task, slot: Slot, count: number): void {
    const logits = Float32Array.from(this.#options.cache.logits(count - 1));
    slot.lastRow = { position: task.read - 1, logits };
    task.lastRow = logits;
  }

  #score(task: Task, slot: Slot, count: number): void {
    const { job, read } = task;
    if (job.scoreFrom === undefined) return;
    if (read === task.cached) slot.scores[read] = task.boundaryScore;
    for (let row = 0; row < count; row++) {
      const scored = read + row + 1;
      if (scored < job.scoreFrom || scored >= job.prompt.length) continue;
      const token = job.prompt[scored] as number;
      const logits = this.#options.cache.logits(row);
      slot.scores[scored] = scoreToken(logits, token, job.topLogprobs ?? 0);
    }
  }
}

function promptRows({ job, read }: Task, slot: Slot, count: number): Row[] {
  const rows: Row[] = [];
  for (let position = read; position < read + count; position++) {
    const token = job.prompt[position] as number;
    rows.push({ token, position, sequence: slot.id, logits: wantsLogits(job, position) });
  }
  return rows;
}
