/**
 * What the project depends on, looked at before the tests: first what package.json and
 * package-lock.json alone tell, then what is known of weak spots, where the registry can be asked.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

export interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  /** Packages that have an install script, and whether it may run. */
  readonly allowScripts?: Readonly<Record<string, boolean>>;
}

export interface LockedPackage {
  readonly version?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly link?: boolean;
  readonly license?: string;
  readonly hasInstallScript?: boolean;
  readonly dev?: boolean;
}

export interface LockFile {
  readonly lockfileVersion: number;
  readonly packages: Readonly<Record<string, LockedPackage & Manifest>>;
}

/** Licences that allow what Apache-2.0 allows; of a choice (OR) one has to be among them. */
const licences = new Set([
  "0BSD",
  "Apache-2.0",
  "BlueOak-1.0.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "CC0-1.0",
  "ISC",
  "MIT",
  "Unlicense",
]);

const exactVersion = /^\d+\.\d+\.\d+(?:-[\w.]+)?$/;
const sha512 = /^sha512-[A-Za-z\d+/]{86}==$/;
const kinds = ["dependencies", "optionalDependencies", "devDependencies"] as const;

/** What is wrong with the two files, one line each; none when all is well. */
export function checkDependencies(manifest: Manifest, lock: LockFile): readonly string[] {
  if (lock.lockfileVersion !== 3) return [`package-lock.json has version ${lock.lockfileVersion}`];
  const { "": root, ...packages } = lock.packages;
  return [
    ...checkManifest(manifest, root ?? {}),
    ...Object.entries(packages).flatMap(([path, locked]) =>
      checkPackage(path, locked, manifest.allowScripts ?? {}),
    ),
  ];
}

/** Exact versions only, and the lock file made of these. */
function checkManifest(manifest: Manifest, root: Manifest): string[] {
  return kinds.flatMap((kind) => {
    const [wanted, locked] = [manifest[kind] ?? {}, root[kind] ?? {}];
    const names = new Set([...Object.keys(wanted), ...Object.keys(locked)]);
    return [...names].flatMap((name) => {
      const version = wanted[name];
      if (version !== undefined && !exactVersion.test(version)) {
        return [`package.json: ${name} has "${version}", which is no exact version`];
      }
      return version === locked[name] ? [] : [`package-lock.json: ${name} is not up to date`];
    });
  });
}

function checkPackage(
  path: string,
  locked: LockedPackage,
  allowScripts: Readonly<Record<string, boolean>>,
): string[] {
  const name = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
  const problems: string[] = [];
  const add = (problem: string) => problems.push(`package-lock.json: ${path} ${problem}`);
  if (!path.includes("node_modules/") || locked.link === true) add("is no package of a registry");
  if (!exactVersion.test(locked.version ?? "")) add("has no version");
  if (!sha512.test(locked.integrity ?? "")) add("has no sha512 hash");
  // The file is kept without addresses: each install asks the registry that it is set to.
  if (locked.resolved !== undefined) add("names an address to download from");
  if (locked.hasInstallScript === true && !Object.hasOwn(allowScripts, name)) {
    add("has an install script that package.json's allowScripts does not decide on");
  }
  if (locked.dev !== true && !licenceAllowed(locked.license)) {
    add(`has the licence ${locked.license ?? "(none)"}`);
  }
  return problems;
}

/** `A OR B` needs one, `A AND B` both; brackets may stand around the whole. */
function licenceAllowed(licence: string | undefined): boolean {
  if (licence === undefined) return false;
  const plain = licence.replace(/^\((.*)\)$/, "$1");
  return plain.split(" OR ").some((one) => one.split(" AND ").every((part) => licences.has(part)));
}

export type Advisories =
  | { readonly kind: "unknown"; readonly reason: string }
  | { readonly kind: "known"; readonly serious: readonly string[]; readonly others: number };

interface AuditReport {
  readonly message?: unknown;
  readonly vulnerabilities?: Readonly<Record<string, { readonly severity?: unknown }>>;
}

/** What `npm audit --json` printed. */
export function readAdvisories(output: string): Advisories {
  let report: AuditReport | null;
  try {
    report = JSON.parse(output) as AuditReport | null;
  } catch {
    return { kind: "unknown", reason: "npm audit printed no JSON" };
  }
  const found = report?.vulnerabilities;
  if (typeof found !== "object" || found === null) {
    return { kind: "unknown", reason: String(report?.message ?? "npm audit told nothing") };
  }
  const all = Object.entries(found);
  const serious = all.filter(([, { severity }]) => severity === "high" || severity === "critical");
  return {
    kind: "known",
    serious: serious.map(([name, { severity }]) => `${name} has a weak spot (${severity})`),
    others: all.length - serious.length,
  };
}

const auditMsMax = 60_000;

function askRegistry(root: string): Advisories {
  const { stdout, error } = spawnSync("npm", ["audit", "--omit=dev", "--json"], {
    cwd: root,
    encoding: "utf8",
    timeout: auditMsMax,
    shell: process.platform === "win32",
  });
  if (error !== undefined) return { kind: "unknown", reason: error.message };
  return readAdvisories(stdout);
}

function readJson<T>(root: string, name: string): T {
  return JSON.parse(readFileSync(join(root, name), "utf8")) as T;
}

function main(root: string): void {
  const lock = readJson<LockFile>(root, "package-lock.json");
  const problems = [...checkDependencies(readJson<Manifest>(root, "package.json"), lock)];
  const count = Object.keys(lock.packages).length - 1;
  process.stdout.write(`${count} packages checked, ${problems.length} problems\n`);
  const advisories = askRegistry(root);
  if (advisories.kind === "known") {
    problems.push(...advisories.serious);
    process.stdout.write(
      `advisories: ${advisories.serious.length} high or critical, ${advisories.others} others\n`,
    );
  } else {
    const reason = advisories.reason.split("\n")[0];
    process.stderr.write(
      "WARNING: the registry could not be asked about advisories, so weak spots of the\n" +
        `WARNING: dependencies are NOT known here: ${reason}\n`,
    );
  }
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  if (problems.length > 0) process.exitCode = 1;
}

if (import.meta.main) main(resolve(import.meta.dirname, ".."));
