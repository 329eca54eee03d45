/**
 * Writes docs/reference/performance.md and its picture from a report of the bench:
 *
 *   node scripts/write-performance.ts FILE.json [FOLDER]
 */
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { chart } from "../src/bench/chart.ts";
import { readReport } from "../src/bench/report.ts";
import { performancePage } from "./performance-page.ts";

const [file, folder] = process.argv.slice(2);
if (file === undefined) throw new Error("name the JSON file that the bench has written");
const report = await readReport(file);
if (report === undefined) throw new Error(`there is no file ${file}`);
const pages = resolve(folder ?? join(import.meta.dirname, "..", "docs", "reference"));
writeFileSync(join(pages, "performance.md"), performancePage(report));
writeFileSync(join(pages, "performance.svg"), chart(report));
