/** A rule of the contract, its words, and the tests that prove it; and the list of all of them. */
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, test } from "vitest";

export interface ProvenRule {
  /** Section and number, for example `7.3`. */
  readonly id: string;
  readonly words: string;
  /** Path from the repository's root. */
  readonly file: string;
  readonly proofs: string[];
}

type Prove = (title: string, proof: () => Promise<void> | void) => void;
type Rule = (id: string, words: string, proofs: (prove: Prove) => void) => void;

/** Filled while vitest collects: complete as soon as the first test runs. */
export const provenRules: ProvenRule[] = [];

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** The function with which one file states its rules. `moduleUrl` is its `import.meta.url`. */
export function rulesOf(moduleUrl: string): Rule {
  const file = relative(root, fileURLToPath(moduleUrl));
  return (id, words, proofs) => {
    describe(`rule ${id}`, () => {
      const proven: ProvenRule = { id, words, file, proofs: [] };
      provenRules.push(proven);
      proofs((title, proof) => {
        proven.proofs.push(title);
        test(title, proof);
      });
    });
  };
}
