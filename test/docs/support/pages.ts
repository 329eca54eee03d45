/** The pages that are tested, and the parts of a page that tests look at. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

export const root = resolve(import.meta.dirname, "..", "..", "..");

/** Paths from the root, of pages that users read. */
export const pagePaths: readonly string[] = globSync(["*.md", "docs/**/*.md"], { cwd: root })
  .map((path) => path.replaceAll("\\", "/"))
  .toSorted();

export interface Page {
  /** From the root, with slashes. */
  readonly path: string;
  readonly text: string;
}

export function readPage(path: string): Page {
  return { path, text: readFileSync(join(root, path), "utf8") };
}

export const exists = (path: string): boolean => existsSync(join(root, path));

export interface CodeBlock {
  readonly path: string;
  /** Of the opening fence, from 1. */
  readonly line: number;
  readonly language: string;
  readonly code: string;
  /** The text of a comment right before the block. */
  readonly comment: string | undefined;
}

export function codeBlocks({ path, text }: Page): CodeBlock[] {
  const blocks: CodeBlock[] = [];
  const fences =
    /(?:<!-- (?<comment>[^\n]*) -->\n\n?)?^```(?<language>\w*)\n(?<code>[\s\S]*?)^```$/gm;
  for (const match of text.matchAll(fences)) {
    const { comment, language = "", code = "" } = match.groups ?? {};
    const opening = match.index + match[0].indexOf("```");
    const line = text.slice(0, opening).split("\n").length;
    blocks.push({ path, line, language, code, comment });
  }
  return blocks;
}

/** The page without code: prose, tables, headings. */
export const withoutCode = (text: string): string => text.replaceAll(/^```[\s\S]*?^```$/gm, "");

/** Cells of the table after `<!-- table: NAME -->`, without its head. Throws when there is none. */
export function tableRows(page: Page, name: string): string[][] {
  const start = page.text.indexOf(`<!-- table: ${name} -->`);
  if (start === -1) throw new Error(`${page.path} has no table ${name}`);
  const table = /(?:^\|.*\|\n)+/m.exec(page.text.slice(start))?.[0] ?? "";
  return table.trimEnd().split("\n").slice(2).map(cells);
}

function cells(row: string): string[] {
  const inner = row.trim().slice(1, -1);
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

/** What stands in backticks. */
export const codeSpans = (cell: string): string[] =>
  [...cell.matchAll(/`([^`]*)`/g)].map((match) => match[1] ?? "");
