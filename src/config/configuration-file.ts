/** Reads completionist.yaml: a flat mapping whose keys are those of the settings table. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Document, parseDocument } from "yaml";
import { ConfigurationError, closestName } from "./configuration-error.ts";
import { keyOf, settingNames } from "./settings.ts";

export const configurationFileName = "completionist.yaml";

export interface ConfigurationFile {
  readonly path: string;
  /** Known keys only; values are not yet checked. */
  readonly values: Readonly<Record<string, unknown>>;
}

/**
 * The file named by the user, which must exist, or `completionist.yaml` in the folder, which need
 * not. Throws a ConfigurationError for a file that cannot be read and for unknown keys.
 */
export function readConfigurationFile(
  named: string | undefined,
  folder: string,
): ConfigurationFile | undefined {
  const path = named ?? join(folder, configurationFileName);
  const shown = named ?? configurationFileName;
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" && named === undefined) return undefined;
    throw new ConfigurationError(`the configuration file ${shown} ${readProblem(code)}`);
  }
  return { path: shown, values: parseFile(text, shown) };
}

function readProblem(code: string | undefined): string {
  if (code === "ENOENT") return "does not exist";
  if (code === "EISDIR") return "is a folder";
  if (code === "EACCES") return "may not be read";
  return `cannot be read (${code})`;
}

function parseFile(text: string, path: string): Readonly<Record<string, unknown>> {
  const document = parseDocument(text, { prettyErrors: true });
  const problem = document.errors[0];
  if (problem !== undefined) {
    const line = problem.linePos?.[0].line;
    const reason = problem.message.split("\n")[0]?.replace(/ at line \d+, column \d+:?$/, "");
    throw new ConfigurationError(`${path}${line === undefined ? "" : ` line ${line}`}: ${reason}`);
  }
  const value = plainValue(document, path);
  if (value === null || value === undefined) return {};
  if (typeof value !== "object" || Array.isArray(value)) {
    throw new ConfigurationError(`${path}: expected settings such as "port: 8080"`);
  }
  const known = new Set(settingNames.map(keyOf));
  for (const key of Object.keys(value)) {
    if (known.has(key)) continue;
    const closest = closestName(key, known);
    const hint = closest === undefined ? "" : `; did you mean "${closest}"?`;
    throw new ConfigurationError(`${path}: "${key}" is no setting${hint}`);
  }
  return value as Readonly<Record<string, unknown>>;
}

/** Throws a ConfigurationError for aliases that contain themselves or write out to very much. */
function plainValue(document: Document, path: string): unknown {
  try {
    const value: unknown = document.toJS();
    // A value that contains itself passes until here, and would surprise whoever prints it.
    JSON.stringify(value);
    return value;
  } catch {
    throw new ConfigurationError(`${path}: its aliases contain themselves or are too many`);
  }
}
