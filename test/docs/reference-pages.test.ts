/** The pages about the API, in English and in Chinese, against the program and each other. */
import { describe, expect, test } from "vitest";
import { codeBlocks, codeSpans, type Page, readPage, tableRows } from "./support/pages.ts";
import { differences, pageFacts, programFacts } from "./support/reference-facts.ts";

const english = readPage("docs/reference/api.md");
const chinese = readPage("docs/zh/api.md");
const tables = ["fields", "extensions", "limits", "errors"];

test.each([english, chinese])("$path says what the program does", (page) => {
  expect(differences(pageFacts(page), programFacts())).toEqual([]);
});

test("both pages say the same", () => {
  expect(differences(pageFacts(english), pageFacts(chinese))).toEqual([]);
});

test("both pages have the same sections and examples", () => {
  const depths = ({ text }: Page) => [...text.matchAll(/^(#+) /gm)].map((match) => match[1]);
  const examples = (page: Page) => codeBlocks(page).map(({ language, code }) => [language, code]);
  expect(depths(chinese)).toEqual(depths(english));
  expect(examples(chinese)).toEqual(examples(english));
});

describe.each([english, chinese])("a mistake in $path is named", (page) => {
  const lines = page.text.split("\n");
  const named = tables.flatMap((table) =>
    tableRows(page, table).map((row) => ({ table, row, name: codeSpans(row[0] ?? "")[0] ?? "" })),
  );

  test.each(named)("when the row $name of $table is left out", ({ table, name, row }) => {
    const without = removeRow(page, table, name);
    expect(without.text.split("\n")).toHaveLength(lines.length - 1);
    const kind = { fields: "field", extensions: "field", limits: "limit", errors: "error" }[table];
    expect(row.length).toBeGreaterThan(1);
    expect(differences(pageFacts(without), programFacts())).toEqual([
      `${kind} ${name}: only on the right`,
    ]);
    const other = page === english ? chinese : english;
    expect(differences(pageFacts(without), pageFacts(other))).toEqual([
      `${kind} ${name}: only on the right`,
    ]);
  });

  test("when a default, a range, a type or a code is another", () => {
    const wrong = [
      [/^(\| `max_tokens` .*)`16`/m, "$1`17`", "field max_tokens: default is '17'"],
      [/^(\| `logprobs` .*)`0\.\.20`/m, "$1`0..21`", "field logprobs: extended range is '0..21'"],
      [/^(\| `echo` \| )`boolean`/m, "$1`string`", "field echo: type is 'null string'"],
      [/`model_not_found`/, "`not_found`", "error modelNotFound: code is 'not_found'"],
      [/^(\| `overloaded` \| )503/m, "$1500", "error overloaded: status is '500'"],
      [/^(\| `stop` \| )`4`/m, "$1`5`", "limit stop: openai is '5'"],
    ] as const;
    for (const [pattern, replacement, difference] of wrong) {
      const text = page.text.replace(pattern, replacement);
      const found = differences(pageFacts({ ...page, text }), programFacts());
      expect(found).toHaveLength(1);
      expect(found[0]).toContain(difference);
    }
  });
});

/** The page without one row of one table. */
function removeRow(page: Page, table: string, name: string): Page {
  const start = page.text.indexOf(`<!-- table: ${table} -->`);
  const rowStart = page.text.slice(start).search(new RegExp(`^\\|[^|]*\`${name}\``, "m")) + start;
  const rowEnd = page.text.indexOf("\n", rowStart) + 1;
  return { ...page, text: page.text.slice(0, rowStart) + page.text.slice(rowEnd) };
}
