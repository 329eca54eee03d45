/** Tables and JSON for terminals. Texts may come from outside: none of them moves the cursor. */

export type Alignment = "left" | "right";

/** What a terminal would obey or turn around: controls, and marks for the direction of text. */
const unprintable = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu;

/** The text with a replacement character for everything that is not to be printed. */
export const printable = (text: string): string => text.replaceAll(unprintable, "\ufffd");

/** JSON in one line, with escapes for the same characters: exact, and safe on a terminal. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    unprintable,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Lines of cells in columns, each as wide as its widest cell; two spaces between them. */
export function columnLines(
  rows: readonly (readonly string[])[],
  alignments: readonly Alignment[],
): readonly string[] {
  const shown = rows.map((cells) => cells.map(printable));
  const widths = alignments.map((_, index) =>
    shown.reduce((width, cells) => Math.max(width, lengthOf(cells[index] ?? "")), 0),
  );
  return shown.map((cells) => columnLine(cells, widths, alignments));
}

/** Labels in front of values; lines without a value are left out. With their ends. */
export function labelledLines(
  lines: readonly (readonly [label: string, value: string | undefined])[],
): readonly string[] {
  const shown = lines.filter((line): line is [string, string] => line[1] !== undefined);
  return columnLines(shown, ["left", "left"]).map((line) => `${line}\n`);
}

/** One line of cells in columns of a given width; a wider cell pushes the others along. */
export function columnLine(
  cells: readonly string[],
  widths: readonly number[],
  alignments: readonly Alignment[],
): string {
  const padded = cells.map((cell, index) => {
    const text = printable(cell);
    const space = " ".repeat(Math.max(0, (widths[index] ?? 0) - lengthOf(text)));
    return alignments[index] === "right" ? space + text : text + space;
  });
  return padded.join("  ").trimEnd();
}

/** In code points. */
const lengthOf = (text: string): number => [...text].length;
