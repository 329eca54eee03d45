import { describe, expect, test } from "vitest";
import { readUsageOptions } from "./usage-options.ts";
import { sumsText } from "./usage-sums.ts";

const sums = { requests: 1, promptTokens: 10, cachedTokens: 4, completionTokens: 20 };

test("the table ends with the sum; keyless requests and no user are a dash", () => {
  const rows = [
    { day: "2026-10-01", key: "", user: "", ...sums },
    { day: "2026-10-01", key: "a", keyId: "key_1", user: "ann\u001b[2J", ...sums },
  ];
  expect(sumsText({ by: ["day", "key", "user"], rows }, "table").join("")).toBe(
    [
      "day         key  user     requests  prompt  cached  completion  total",
      "2026-10-01  -    -               1      10       4          20     30",
      "2026-10-01  a    ann\ufffd[2J         1      10       4          20     30",
      "sum                              2      20       8          40     60",
      "",
    ].join("\n"),
  );
});

test("keys that had a name after each other are told apart by their ids", () => {
  const rows = [
    { key: "a", keyId: "key_1", ...sums },
    { key: "a", keyId: "key_2", ...sums },
    { key: "b", keyId: "key_3", ...sums },
  ];
  const lines = sumsText({ by: ["key"], rows }, "table");
  expect(lines.map((line) => line.split(/ {2,}/)[0])).toEqual([
    "key",
    "a (key_1)",
    "a (key_2)",
    "b",
    "sum",
  ]);
});

test("CSV and JSON have the same columns, a key with its id", () => {
  const rows = [{ day: "2026-10-01", key: "a", keyId: "key_1", ...sums }];
  const csv = sumsText({ by: ["day", "key"], rows }, "csv");
  expect(csv).toEqual([
    "day,key,key_id,requests,prompt_tokens,cached_tokens,completion_tokens,total_tokens\r\n",
    "2026-10-01,a,key_1,1,10,4,20,30\r\n",
  ]);
  const [object] = JSON.parse(sumsText({ by: ["day", "key"], rows }, "json").join(""));
  expect(Object.keys(object).join()).toBe(csv[0]?.trim());
  expect(Object.values(object).join()).toBe(csv[1]?.trim());
});

describe("options", () => {
  test("by day and key, unless something else is said, in the order of the rows", () => {
    expect(readUsageOptions({})).toEqual({
      by: ["day", "key"],
      range: {},
      key: undefined,
      form: "table",
    });
    expect(readUsageOptions({ by: "user, model,day" }).by).toEqual(["day", "model", "user"]);
    const range = { from: "2026-10-01", until: "1790899200" };
    expect(readUsageOptions({ ...range, requests: true, csv: true })).toEqual({
      by: undefined,
      range: { fromMs: Date.UTC(2026, 9, 1), untilMs: 1_790_899_200_000 },
      key: undefined,
      form: "csv",
    });
  });

  test.each([
    [{ by: "hour" }, '--by: expected some of day, key, model, user, got "hour"'],
    [{ from: "today" }, /^--from: expected a date .*, got "today"$/],
    [{ from: "2026-10-02", until: "2026-10-02" }, "--until: it must be later than --from"],
    [{ by: "day", requests: true }, "--requests and --by do not go together"],
    [{ csv: true, json: true }, "--csv and --json do not go together"],
  ])("%j", (words, message) => {
    expect(() => readUsageOptions(words)).toThrow(message);
  });
});
