import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, onTestFinished } from "vitest";
import { keySuite } from "./testing/key-suite.ts";
import { ledgerSuite } from "./testing/ledger-suite.ts";
import { limitSuite } from "./testing/limit-suite.ts";

const newDatabase = async () => {
  const dataFolder = mkdtempSync(join(tmpdir(), "completionist-access-"));
  onTestFinished(() => rmSync(dataFolder, { recursive: true, force: true }));
  return { database: undefined, dataFolder };
};

describe("SQLite: keys", () => keySuite(newDatabase));
describe("SQLite: limits", () => limitSuite(newDatabase));
describe("SQLite: ledger", () => ledgerSuite(newDatabase));
