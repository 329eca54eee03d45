import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import {
  checkDependencies,
  type LockedPackage,
  type LockFile,
  type Manifest,
  readAdvisories,
} from "./audit.ts";

const integrity = `sha512-${"A".repeat(86)}==`;
const good: LockedPackage = { version: "1.0.0", integrity, license: "MIT" };

/** Problems of a project that depends on `a`, locked as given. */
function problemsOf(locked: object, manifest: Manifest = { dependencies: { a: "1.0.0" } }) {
  const { dependencies = {} } = manifest;
  const lock: LockFile = {
    lockfileVersion: 3,
    packages: { "": { dependencies }, "node_modules/a": { ...good, ...locked } },
  };
  return checkDependencies(manifest, lock);
}

test("our own files have no problems", () => {
  const root = resolve(import.meta.dirname, "..");
  const [manifest, lock] = ["package.json", "package-lock.json"].map((name) =>
    JSON.parse(readFileSync(join(root, name), "utf8")),
  );
  expect(Object.keys(lock.packages).length).toBeGreaterThan(100);
  expect(checkDependencies(manifest, lock)).toEqual([]);
});

test("a package with version, hash and licence is no problem", () => {
  expect(problemsOf({})).toEqual([]);
});

describe("a locked package is refused", () => {
  test.each([
    ["without a hash", { integrity: undefined }, "has no sha512 hash"],
    ["with a weak hash", { integrity: `sha1-${"A".repeat(27)}=` }, "has no sha512 hash"],
    ["with a cut hash", { integrity: "sha512-AAAA" }, "has no sha512 hash"],
    ["with two hashes", { integrity: `sha1-AAAA ${integrity}` }, "has no sha512 hash"],
    ["with an address", { resolved: "https://evil.example/a.tgz" }, "an address to download from"],
    ["from a repository", { resolved: "git+ssh://git@host/a.git#1" }, "an address to download"],
    ["that is a link", { link: true }, "is no package of a registry"],
    ["without a version", { version: undefined }, "has no version"],
    ["without a licence", { license: undefined }, "has the licence (none)"],
    ["with another licence", { license: "AGPL-3.0-only" }, "has the licence AGPL-3.0-only"],
    ["with one of two licences", { license: "MIT AND GPL-2.0-only" }, "has the licence MIT AND"],
    ["with a script nobody decided on", { hasInstallScript: true }, "has an install script"],
  ])("%s", (_, locked, problem) => {
    const problems = problemsOf(locked);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(`node_modules/a ${problem.startsWith("an") ? "names " : ""}`);
    expect(problems[0]).toContain(problem);
  });
});

test("a choice of licences needs one that is allowed", () => {
  expect(problemsOf({ license: "(GPL-2.0-only OR MIT)" })).toEqual([]);
});

test("what only developers need may have any licence, but needs a hash", () => {
  expect(problemsOf({ dev: true, license: "MPL-2.0" })).toEqual([]);
  expect(problemsOf({ dev: true, integrity: undefined })).toHaveLength(1);
});

test("an install script may be decided on either way", () => {
  const dependencies = { a: "1.0.0" };
  for (const decided of [true, false]) {
    const manifest = { dependencies, allowScripts: { a: decided } };
    expect(problemsOf({ hasInstallScript: true }, manifest)).toEqual([]);
  }
});

test.each([
  "^1.0.0",
  "~1.0.0",
  "1.x",
  "*",
  "latest",
  "",
  ">=1.0.0",
  "git+https://host/a",
  "file:a",
])("package.json must not ask for %j", (version) => {
  expect(problemsOf({}, { dependencies: { a: version } })).toEqual([
    `package.json: a has "${version}", which is no exact version`,
  ]);
});

test("a lock file that package.json has left behind is refused", () => {
  const lock = { lockfileVersion: 3, packages: { "": { dependencies: { a: "1.0.0" } } } };
  expect(checkDependencies({ dependencies: { a: "1.0.1" } }, lock)).toEqual([
    "package-lock.json: a is not up to date",
  ]);
  expect(checkDependencies({}, lock)).toEqual(["package-lock.json: a is not up to date"]);
});

describe("advisories", () => {
  test("of high and critical severity count, others are only told", () => {
    const vulnerabilities = {
      a: { severity: "low" },
      b: { severity: "high" },
      c: { severity: "critical" },
      d: { severity: "moderate" },
    };
    expect(readAdvisories(JSON.stringify({ vulnerabilities }))).toEqual({
      kind: "known",
      serious: ["b has a weak spot (high)", "c has a weak spot (critical)"],
      others: 2,
    });
  });

  test("are unknown where the registry cannot be asked, with the reason", () => {
    const refused = JSON.stringify({ message: "405 Method Not Allowed", error: {} });
    expect(readAdvisories(refused)).toEqual({ kind: "unknown", reason: "405 Method Not Allowed" });
    for (const output of ["", "not JSON", "null", "{}", "[]"]) {
      expect(readAdvisories(output).kind).toBe("unknown");
    }
  });
});
