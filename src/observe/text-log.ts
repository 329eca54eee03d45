/**
 * Prompts and completions in the log, for `--log-prompts` alone. Their fields have names of their
 * own: those that a log line usually has for texts are cut out of every line.
 */
import type { CompletionRequest, Prompt } from "../contract/completion-request.ts";
import type { Choice } from "../contract/responses.ts";

/** Characters of one text, and texts of one request, that are written. */
export const loggedCharactersMax = 2000;
export const loggedTextsMax = 8;

export interface TextLogSink {
  info(fields: object, message: string): void;
}

export interface LoggedIds {
  readonly requestId: string;
  readonly completionId: string;
}

export class TextLog {
  readonly #log: TextLogSink;
  readonly #ids: LoggedIds;
  readonly #texts = new Map<number, string>();

  constructor(log: TextLogSink, ids: LoggedIds) {
    this.#log = log;
    this.#ids = ids;
  }

  prompts({ prompts, suffix }: CompletionRequest): void {
    const shown = prompts.slice(0, loggedTextsMax).map(promptText);
    const fields = { ...this.#ids, prompts: prompts.length, promptTexts: shown };
    const after = suffix === undefined ? {} : { suffixText: cut(suffix) };
    this.#log.info({ ...fields, ...after }, "prompt");
  }

  choice({ index, text }: Choice): void {
    const known = this.#texts.get(index);
    if (known === undefined && this.#texts.size >= loggedTextsMax) return;
    if (known !== undefined && known.length > loggedCharactersMax) return;
    this.#texts.set(index, `${known ?? ""}${text}`);
  }

  /** Called once, however the completion ended: what came so far. */
  end(): void {
    const texts = [...this.#texts].map(([index, text]) => ({ index, written: cut(text) }));
    this.#log.info({ ...this.#ids, completionTexts: texts }, "completion");
  }
}

function promptText(prompt: Prompt): string {
  if (prompt.kind !== "tokens") return cut(prompt.text);
  return cut(`[${prompt.tokens.slice(0, loggedCharactersMax).join(", ")}]`);
}

function cut(text: string): string {
  if (text.length <= loggedCharactersMax) return text;
  return `${text.slice(0, loggedCharactersMax).toWellFormed()}...`;
}
