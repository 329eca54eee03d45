/** The version of the package that runs. */
import { readFileSync } from "node:fs";

/** Reads package.json, which lies two folders up from the sources and from the built files. */
export function packageVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { readonly version: string }).version;
}
