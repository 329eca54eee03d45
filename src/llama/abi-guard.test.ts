import koffi from "koffi";
import { describe, expect, test } from "vitest";
import {
  type AbiObservation,
  abiDifferences,
  expectedDefaults,
  expectedSizes,
  guardAbi,
  pinnedVersion,
} from "./abi-guard.ts";
import { contextParamsMembers, layouts } from "./layouts.ts";
import { findNativeFiles } from "./platform-package.ts";

const agreeing: AbiObservation = {
  version: pinnedVersion,
  sizes: expectedSizes,
  ...expectedDefaults,
};

/** The values of a struct, each moved to the member behind it. */
function shifted<T extends object>(values: T): T {
  const names = Object.keys(values);
  const moved = Object.values(values);
  moved.unshift(moved.pop());
  return Object.fromEntries(names.map((name, index) => [name, moved[index]])) as T;
}

describe("the ABI guard", () => {
  test("accepts the pinned release", () => {
    expect(abiDifferences(agreeing)).toEqual([]);
    expect(() => guardAbi(agreeing)).not.toThrow();
  });

  test("refuses another release", () => {
    const observed = { ...agreeing, version: "0.5.0-dev" };
    expect(() => guardAbi(observed)).toThrow(/its version is 0\.5\.0-dev, not 0\.4\.0-dev/);
  });

  test.each(["modelParams", "contextParams", "quantizeParams"] as const)(
    "refuses %s whose members moved by one",
    (struct) => {
      const observed = { ...agreeing, [struct]: shifted(agreeing[struct]) };
      expect(abiDifferences(observed).length).toBeGreaterThan(0);
    },
  );

  test("refuses any single default that differs", () => {
    for (const struct of ["modelParams", "contextParams", "quantizeParams"] as const) {
      for (const member of Object.keys(agreeing[struct])) {
        const observed = { ...agreeing, [struct]: { ...agreeing[struct], [member]: 12_345 } };
        expect(abiDifferences(observed)).toHaveLength(1);
      }
    }
  });

  test("refuses sizes that differ", () => {
    const observed = { ...agreeing, sizes: { ...expectedSizes, batch: 64 } };
    expect(abiDifferences(observed)).toEqual(["batch has 64 bytes, not 56"]);
  });

  test("takes pointer-sized integers in either form", () => {
    const contextParams = { ...agreeing.contextParams, n_samplers: 0n };
    expect(abiDifferences({ ...agreeing, contextParams })).toEqual([]);
  });
});

describe("the layouts", () => {
  test("have the sizes of the C structs", () => {
    for (const [name, bytes] of Object.entries(expectedSizes)) {
      expect(koffi.sizeof(layouts[name as keyof typeof layouts]), name).toBe(bytes);
    }
  });

  test("a layout that lost a member is refused on the real library", () => {
    const { n_rs_seq: _, ...members } = contextParamsMembers;
    const stale = koffi.struct(members);
    const library = koffi.load(findNativeFiles("cpu").llama);
    const contextParams = library.func("llama_context_default_params", stale, [])();
    const sizes = { ...expectedSizes, contextParams: koffi.sizeof(stale) };
    const differences = abiDifferences({ ...agreeing, sizes, contextParams });
    // Alignment makes the struct as large as before: only the values give it away.
    expect(sizes).toEqual(expectedSizes);
    expect(differences).toContain("contextParams.n_outputs_max_per_seq is 0, not 1");
    expect(differences).toContain("contextParams.n_threads is 1, not 4");
  });
});
