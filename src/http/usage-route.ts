/** GET /v1/usage: what the key that asks has used. */
import type { FastifyRequest } from "fastify";
import { type UsageGroup, type UsageQuery, type UsageRow, usageGroups } from "../access/access.ts";
import { timeForms, timeOf } from "../access/time-text.ts";
import { ApiError } from "../contract/errors.ts";
import { shorten } from "../contract/shorten.ts";
import { principalOf } from "./caller.ts";
import type { ServerContext } from "./server-context.ts";

type Query = Readonly<Record<string, unknown>>;

const parameters = ["by", "from", "until"] as const;

/** Throws an ApiError for a query that cannot be understood. */
export async function answerUsage(
  { access }: ServerContext,
  request: FastifyRequest,
): Promise<object> {
  const query = parseUsageQuery(request.query as Query);
  const rows = await access.usage(principalOf(request), query);
  return {
    object: "list",
    by: query.by,
    from: toSeconds(query.fromMs),
    until: toSeconds(query.untilMs),
    data: rows.map(usageEntry),
  };
}

function usageEntry(row: UsageRow): object {
  const { requests, promptTokens, cachedTokens, completionTokens } = row;
  return {
    object: "usage",
    ...Object.fromEntries(
      usageGroups.flatMap((group) => (row[group] === undefined ? [] : [[group, row[group]]])),
    ),
    requests,
    prompt_tokens: promptTokens,
    cached_tokens: cachedTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
}

const toSeconds = (timeMs: number | undefined): number | null =>
  timeMs === undefined ? null : timeMs / 1000;

/** `by` is a list with commas; `from` and `until` are dates, times or Unix seconds. */
export function parseUsageQuery(query: Query): UsageQuery {
  const unknown = Object.keys(query).filter((name) => !parameters.some((known) => known === name));
  if (unknown.length > 0) {
    const names = unknown.map((name) => shorten(name)).join(", ");
    throw new ApiError("unrecognizedArgument", { plural: unknown.length > 1 ? "s" : "", names });
  }
  const fromMs = parseTime("from", query.from);
  const untilMs = parseTime("until", query.until);
  if (fromMs !== undefined && untilMs !== undefined && fromMs >= untilMs) {
    throw new ApiError("invalidValue", { param: "until", reason: "it must be later than from" });
  }
  return {
    by: parseGroups(query.by),
    ...(fromMs === undefined ? {} : { fromMs }),
    ...(untilMs === undefined ? {} : { untilMs }),
  };
}

function parseGroups(given: unknown): readonly UsageGroup[] {
  if (given === undefined) return ["day"];
  const names = [given].flat().flatMap((text) => String(text).split(","));
  const groups = new Set<UsageGroup>();
  for (const name of names) {
    const group = usageGroups.find((known) => known === name.trim());
    if (group === undefined) {
      const reason = `expected some of ${usageGroups.join(", ")}, got '${shorten(name)}'`;
      throw new ApiError("invalidValue", { param: "by", reason });
    }
    groups.add(group);
  }
  return [...groups];
}

function parseTime(param: string, given: unknown): number | undefined {
  if (given === undefined) return undefined;
  const text = String(given);
  const timeMs = timeOf(text);
  if (timeMs !== undefined) return timeMs;
  const reason = `expected ${timeForms}, got '${shorten(text)}'`;
  throw new ApiError("invalidValue", { param, reason });
}
