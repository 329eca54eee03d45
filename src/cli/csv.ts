/** Comma separated values by RFC 4180, safe to open in a spreadsheet. */

export type CsvCell = string | number | undefined;

/** Spreadsheets run what begins so. */
const formulaStart = /^[=+\-@\t\r]/;
/** Controls other than those that a quoted cell may hold. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const controls = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g;

/**
 * One line with its end. A text that a spreadsheet would take for a formula gets an apostrophe in
 * front: names of users come from whoever sends requests. Controls become replacement characters.
 */
export function csvLine(cells: readonly CsvCell[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

function csvCell(cell: CsvCell): string {
  if (cell === undefined) return "";
  if (typeof cell === "number") return String(cell);
  const text = cell.replaceAll(controls, "\ufffd");
  const guarded = formulaStart.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}
