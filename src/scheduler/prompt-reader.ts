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
import type { Backend, Row } from "./backend.ts";
import { padding } from "./padding.ts";
import { chunkRows, type RowBudget } from "./prompt-rows.ts";
import { type Task, wantsLogits } from "./task.ts";

export class PromptReader {
  readonly #backend: Backend;
  readonly #budget: RowBudget;
  readonly #padRows: boolean;
  readonly #nowMs: () => number;

  constructor(options: {
    readonly backend: Backend;
    readonly budget: RowBudget;
    readonly padRows: boolean;
    readonly nowMs: () => number;
  }) {
    this.#backend = options.backend;
    this.#budget = options.budget;
    this.#padRows = options.padRows;
    this.#nowMs = options.nowMs;
  }

  /** Reads the next chunk. After the last one the task holds the logits of its last row. */
  readChunk(task: Task): void {
    const { job } = task;
    const wanted = this.#budget.rows(job.scoreFrom !== undefined);
    const count = chunkRows(job.prompt.length - task.read, wanted);
    const rows = this.#rows(task, count);
    const startMs = this.#nowMs();
    this.#backend.decode(rows);
    this.#score(task, count);
    this.#budget.record(count, this.#nowMs() - startMs);
    task.read += count;
    if (task.read === job.prompt.length && job.maxTokens > 0) {
      task.lastRow = Float32Array.from(this.#backend.logits(count - 1));
    }
    if (rows.length > count) this.#backend.trimSequence(rows[0]?.sequence as number, task.read);
  }

  #rows(task: Task, count: number): Row[] {
    const { job, read, promptSlot: sequence } = task;
    if (sequence === undefined) throw new Error("a prompt is read into a slot");
    const rows: Row[] = [];
    for (let index = read; index < read + count; index++) {
      const token = job.prompt[index] as number;
      rows.push({ token, position: index, sequence, logits: wantsLogits(job, index) });
    }
    if (count === 1 && this.#padRows) rows.push(padding(rows[0] as Row));
    return rows;
  }

  #score(task: Task, count: number): void {
    const { job, read } = task;
    if (job.scoreFrom === undefined) return;
    const last = job.prompt.length - 1;
    for (let row = 0; row < count; row++) {
      const index = read + row;
      if (index === last || index + 1 < job.scoreFrom) continue;
      const next = job.prompt[index + 1] as number;
      task.scores.push(scoreToken(this.#backend.logits(row), next, job.topLogprobs ?? 0));
    }
  }
}
