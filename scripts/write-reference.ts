/** Writes the reference pages that come from tables of the program. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { configurationPage } from "../src/config/reference-page.ts";

const folder = join(resolve(import.meta.dirname, ".."), "docs", "reference");

mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, "configuration.md"), configurationPage());
