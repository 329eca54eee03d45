/**
 * The program's log: one pino logger, JSON lines for machines or short lines for a person at a
 * terminal. Prompts, completions and keys never reach it: fields with such names are cut out.
 */
import { type DestinationStream, type Logger, pino } from "pino";

export type Log = Logger;

export const logLevels = ["silent", "fatal", "error", "warn", "info", "debug", "trace"] as const;
export type LogLevel = (typeof logLevels)[number];

/** `auto`: `text` on a terminal, else `json`. */
export const logFormats = ["auto", "json", "text"] as const;
export type LogFormat = (typeof logFormats)[number];

export interface LogOptions {
  readonly level: LogLevel;
  readonly format: LogFormat;
  /** Where lines go; standard error by default, so that standard output stays for answers. */
  readonly destination?: LogDestination;
}

export interface LogDestination {
  write(text: string): unknown;
  readonly isTTY?: boolean;
}

/** Field names whose values are never logged, at the top and one level down. */
const secretFields = [
  "prompt",
  "suffix",
  "text",
  "key",
  "keys",
  "apiKey",
  "apiKeys",
  "authorization",
  "headers.authorization",
  "body",
];

export function createLog(options: LogOptions): Log {
  const destination = options.destination ?? process.stderr;
  const asText =
    options.format === "text" || (options.format === "auto" && destination.isTTY === true);
  const stream: DestinationStream = {
    write: (line) => {
      destination.write(asText ? readableLine(line, destination.isTTY === true) : line);
    },
  };
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: [...secretFields, ...secretFields.map((name) => `*.${name}`)],
        censor: "[hidden]",
      },
    },
    stream,
  );
}

const colours: Readonly<Record<string, number>> = { fatal: 31, error: 31, warn: 33, debug: 90 };

/** One JSON line of pino as `12:34:56 info  message name=value`, a stack on lines of its own. */
function readableLine(line: string, coloured: boolean): string {
  const fields = JSON.parse(line) as Record<string, unknown>;
  const { level, time, msg, err, ...rest } = fields;
  const name = String(level);
  const clock = String(time).slice(11, 19);
  const extra = Object.entries(rest).map(([key, value]) => ` ${key}=${readableValue(value)}`);
  const text = `${clock} ${name.padEnd(5)} ${msg ?? ""}${extra.join("")}${errorText(err)}`;
  const colour = coloured ? colours[name] : undefined;
  return colour === undefined ? `${text}\n` : `\u001b[${colour}m${text}\u001b[0m\n`;
}

function readableValue(value: unknown): string {
  if (typeof value === "string" && /^[^\s"=]+$/.test(value)) return value;
  return JSON.stringify(value);
}

function errorText(error: unknown): string {
  if (typeof error !== "object" || error === null) return "";
  const { message, stack } = error as { readonly message?: unknown; readonly stack?: unknown };
  return `\n  ${String(stack ?? message).replaceAll("\n", "\n  ")}`;
}
