/** The words of `completionist usage`: which rows, and in what form. */
import { type UsageGroup, usageGroups } from "../access/access.ts";
import { timeForms, timeOf } from "../access/time-text.ts";
import { listOf, wrongValue } from "./data-settings.ts";
import { UserError, usageExitCode } from "./user-error.ts";

/** As they stand on the command line. */
export interface UsageWords {
  readonly by?: string;
  readonly from?: string;
  readonly until?: string;
  readonly key?: string;
  readonly requests?: boolean;
  readonly csv?: boolean;
  readonly json?: boolean;
}

export type UsageForm = "table" | "csv" | "json";

export interface UsageOptions {
  /** What to sum up by; undefined: every request. */
  readonly by: readonly UsageGroup[] | undefined;
  readonly range: { readonly fromMs?: number; readonly untilMs?: number };
  /** Name or id of one key. */
  readonly key: string | undefined;
  readonly form: UsageForm;
}

/** Throws a UserError. */
export function readUsageOptions(words: UsageWords): UsageOptions {
  const { by, key, requests = false, csv = false, json = false } = words;
  if (requests && by !== undefined) throw together("--requests", "--by");
  if (csv && json) throw together("--csv", "--json");
  const fromMs = readTime("--from", words.from);
  const untilMs = readTime("--until", words.until);
  if (fromMs !== undefined && untilMs !== undefined && fromMs >= untilMs) {
    throw wrongValue("--until", "it must be later than --from");
  }
  return {
    by: requests ? undefined : readGroups(by),
    range: {
      ...(fromMs === undefined ? {} : { fromMs }),
      ...(untilMs === undefined ? {} : { untilMs }),
    },
    key,
    form: csv ? "csv" : json ? "json" : "table",
  };
}

function readGroups(text: string | undefined): readonly UsageGroup[] {
  if (text === undefined) return ["day", "key"];
  const names = listOf("--by", text);
  const unknown = names.find((name) => !usageGroups.some((group) => group === name));
  if (unknown !== undefined) {
    throw wrongValue("--by", `expected some of ${usageGroups.join(", ")}, got "${unknown}"`);
  }
  // In the order of the rows, so that equal cells stand below each other.
  return usageGroups.filter((group) => names.includes(group));
}

function readTime(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const timeMs = timeOf(text);
  if (timeMs === undefined) throw wrongValue(option, `expected ${timeForms}, got "${text}"`);
  return timeMs;
}

const together = (one: string, other: string): UserError =>
  new UserError(`${one} and ${other} do not go together`, usageExitCode);
