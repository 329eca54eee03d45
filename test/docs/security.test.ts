/** The page about security names its proofs: they must be there. */
import { expect, test } from "vitest";
import { codeSpans, exists, readPage } from "./support/pages.ts";

const page = readPage("docs/reference/security.md");
const files = codeSpans(page.text).filter((span) => /^(src|test|scripts)\/.*\.ts$/.test(span));

test("every file that the page names is there", () => {
  expect(files.length).toBeGreaterThan(20);
  expect(files.filter((file) => !exists(file))).toEqual([]);
});

test("every section but the first and the last says what is not protected", () => {
  const sections = page.text.split(/^## /m).slice(2, -1);
  const silent = sections.filter((text) => !/^Not protected: /m.test(text));
  expect(silent.map((text) => text.split("\n")[0])).toEqual([]);
});
