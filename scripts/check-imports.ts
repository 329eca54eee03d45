/**
 * Checks the shape of the house: imports run down the list of rooms only, nothing but tests
 * imports test helpers, what is published needs only declared dependencies, files stay short.
 */
import { globSync, readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { dirname, join, posix, resolve, sep } from "node:path";

/** From the top of the house down: a room may import itself and what stands after it. */
const rooms = [
  "cli",
  "bench",
  "index.ts",
  "library",
  "mcp",
  "http",
  "playground",
  "config",
  "access",
  "models",
  "completion",
  "llama",
  "remote",
  "scheduler",
  "engine",
  "observe",
  "sampling",
  "text",
  "contract",
] as const;

/** The pure rooms import nothing of ours but themselves. */
const pureRooms: ReadonlySet<string> = new Set(["contract", "text", "sampling"]);
/** The page talks to the server over HTTP only; it may know the types of what is sent. */
const allowedRooms: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["playground", new Set(["playground", "contract"])],
]);

export const linesMax = 300;
const builtins: ReadonlySet<string> = new Set(builtinModules);

export interface SourceFile {
  /** Relative to the root of the project, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

/** The module names a source file imports, exports from or loads with `import()`. */
export function importedNames(text: string): readonly string[] {
  const patterns = [
    /^[ \t]*(?:import|export)\b[^;"'`]*?\bfrom\s*["']([^"']+)["']/gm,
    /^[ \t]*import\s*["']([^"']+)["']/gm,
    /\bimport\(\s*["']([^"']+)["']\s*\)/g,
  ];
  return patterns.flatMap((pattern) => [...text.matchAll(pattern)].map((match) => match[1] ?? ""));
}

export function isTestCode(path: string): boolean {
  return /\.test\.tsx?$/.test(path) || path.split("/").includes("testing");
}

function roomOf(path: string): string {
  return path.split("/")[1] ?? "";
}

/** What is wrong with one import, or undefined. */
function importProblem(
  path: string,
  name: string,
  dependencies: ReadonlySet<string>,
): string | undefined {
  if (!name.startsWith(".")) return packageProblem(path, name, dependencies);
  const target = posix.normalize(posix.join(posix.dirname(path), name));
  if (!target.startsWith("src/")) {
    if (target === "package.json") return undefined;
    return isTestCode(path) ? undefined : `imports ${name}, which is outside of src/`;
  }
  if (!isTestCode(path) && isTestCode(target)) return `imports ${name}, which is test code`;
  if (!/\.(ts|tsx|json|css)$/.test(target)) return `imports ${name} without its file extension`;
  return directionProblem(path, target);
}

function directionProblem(path: string, target: string): string | undefined {
  const from = roomOf(path);
  const to = roomOf(target);
  const fromRank = rooms.indexOf(from as (typeof rooms)[number]);
  const toRank = rooms.indexOf(to as (typeof rooms)[number]);
  if (fromRank === -1) return `is in src/${from}, which is no room of the list`;
  if (toRank === -1) return `imports src/${to}, which is no room of the list`;
  if (from === to) return undefined;
  if (toRank < fromRank) return `imports ${to} from ${from}: imports run down the list only`;
  if (isTestCode(path)) return undefined;
  if (pureRooms.has(from)) return `imports ${to}, but ${from} imports nothing of ours`;
  const allowed = allowedRooms.get(from);
  if (allowed !== undefined && !allowed.has(to)) return `imports ${to}, which ${from} may not know`;
  return undefined;
}

function packageProblem(
  path: string,
  name: string,
  dependencies: ReadonlySet<string>,
): string | undefined {
  if (name.startsWith("node:")) return undefined;
  if (builtins.has(name)) return `imports ${name} without "node:"`;
  if (isTestCode(path) || !path.startsWith("src/")) return undefined;
  const parts = name.split("/");
  const packageName = parts.slice(0, name.startsWith("@") ? 2 : 1).join("/");
  // The page is bundled when the package is built, so it needs nothing at run time.
  if (dependencies.has(packageName) || roomOf(path) === "playground") return undefined;
  return `imports ${packageName}, which is no dependency of package.json`;
}

/** One line for each thing that is wrong; empty when all is well. */
export function checkSources(
  files: readonly SourceFile[],
  dependencies: ReadonlySet<string>,
): readonly string[] {
  return files.flatMap((file) => {
    const problems: string[] = [];
    const lines = file.text.split("\n").length - (file.text.endsWith("\n") ? 1 : 0);
    if (lines > linesMax) {
      problems.push(`${file.path} has ${lines} lines, and ${linesMax} is the most for one file`);
    }
    if (!file.path.startsWith("src/")) return problems;
    for (const name of importedNames(file.text)) {
      const problem = importProblem(file.path, name, dependencies);
      if (problem !== undefined) problems.push(`${file.path} ${problem}`);
    }
    return problems;
  });
}

function readSources(root: string): readonly SourceFile[] {
  return globSync("{src,test,bench,scripts}/**/*.{ts,tsx,cts,mts,cjs,mjs}", { cwd: root })
    .sort()
    .map((path) => ({
      path: path.split(sep).join("/"),
      text: readFileSync(join(root, path), "utf8"),
    }));
}

function readDependencies(root: string): ReadonlySet<string> {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly dependencies?: Record<string, string>;
    readonly optionalDependencies?: Record<string, string>;
  };
  return new Set([
    ...Object.keys(manifest.dependencies ?? {}),
    ...Object.keys(manifest.optionalDependencies ?? {}),
  ]);
}

if (import.meta.main) {
  const root = resolve(dirname(import.meta.filename), "..");
  const files = readSources(root);
  const problems = checkSources(files, readDependencies(root));
  for (const problem of problems) process.stdout.write(`${problem}\n`);
  process.stdout.write(`${files.length} files checked, ${problems.length} problems\n`);
  if (problems.length > 0) process.exitCode = 1;
}
