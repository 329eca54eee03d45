/**
 * A lock file for a project whose one dependency is the tarball: with the versions of our own, so
 * that an install needs no packages but those that are there already.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

type Entry = Readonly<Record<string, unknown>>;

export function lockFor(
  root: string,
  packed: { readonly filename: string; readonly integrity: string },
): object {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Entry;
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    readonly lockfileVersion: number;
    readonly packages: Readonly<Record<string, Entry>>;
  };
  const needed = Object.entries(lock.packages).filter(
    ([path, entry]) => path !== "" && entry.dev !== true,
  );
  const { version, license, bin, engines, dependencies, optionalDependencies } = manifest;
  return {
    name: "consumer",
    lockfileVersion: lock.lockfileVersion,
    requires: true,
    packages: {
      "": { name: "consumer", dependencies: { completionist: `file:${packed.filename}` } },
      "node_modules/completionist": {
        version,
        resolved: `file:${packed.filename}`,
        integrity: packed.integrity,
        ...{ license, bin, engines, dependencies, optionalDependencies },
      },
      ...Object.fromEntries(needed),
    },
  };
}
