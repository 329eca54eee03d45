import { describe, expect, test } from "vitest";
import { checkSources, importedNames, linesMax } from "./check-imports.ts";

const dependencies = new Set(["zod", "@scope/kit"]);

function problemsOf(path: string, text: string): readonly string[] {
  return checkSources([{ path, text }], dependencies);
}

describe("imports run down the list of rooms", () => {
  test("a room may import itself and what stands below it", () => {
    const text = `import { a } from "../engine/engine.ts";\nimport type { b } from "./b.ts";\n`;
    expect(problemsOf("src/completion/run.ts", text)).toEqual([]);
  });

  test("a room must not import what stands above it", () => {
    expect(problemsOf("src/engine/x.ts", `import { a } from "../http/server.ts";\n`)).toEqual([
      "src/engine/x.ts imports http from engine: imports run down the list only",
    ]);
  });

  test("re-exports, bare imports and import() count as imports", () => {
    const texts = [
      `export { a } from "../http/a.ts";\n`,
      `export type {\n  A,\n  B,\n} from "../http/a.ts";\n`,
      `import "../http/a.ts";\n`,
      `const a = await import("../http/a.ts");\n`,
    ];
    for (const text of texts) expect(problemsOf("src/models/x.ts", text)).toHaveLength(1);
  });

  test("pure rooms import nothing of ours, their tests may", () => {
    const text = `import { a } from "../contract/errors.ts";\n`;
    expect(problemsOf("src/text/x.ts", text)).toEqual([
      "src/text/x.ts imports contract, but text imports nothing of ours",
    ]);
    expect(problemsOf("src/text/x.test.ts", text)).toEqual([]);
  });

  test("tests must not import what stands above their room either", () => {
    expect(problemsOf("src/text/x.test.ts", `import "../cli/main.ts";\n`)).toHaveLength(1);
  });

  test("the page knows nothing but contract types", () => {
    expect(problemsOf("src/playground/x.tsx", `import "../contract/responses.ts";\n`)).toEqual([]);
    expect(problemsOf("src/playground/x.tsx", `import "../engine/engine.ts";\n`)).toHaveLength(1);
  });

  test("a folder that is no room is refused on both ends", () => {
    expect(problemsOf("src/util/x.ts", `import "../text/a.ts";\n`)).toHaveLength(1);
    expect(problemsOf("src/http/x.ts", `import "../util/a.ts";\n`)).toHaveLength(1);
  });
});

describe("what is published", () => {
  test("does not import test helpers", () => {
    expect(problemsOf("src/llama/x.ts", `import "./testing/tiny.ts";\n`)).toEqual([
      "src/llama/x.ts imports ./testing/tiny.ts, which is test code",
    ]);
  });

  test("does not leave src/", () => {
    expect(problemsOf("src/llama/x.ts", `import "../../scripts/build.ts";\n`)).toHaveLength(1);
  });

  test("imports only declared dependencies and node: modules", () => {
    const good = `import { z } from "zod";\nimport "@scope/kit/part";\nimport "node:fs";\n`;
    expect(problemsOf("src/http/x.ts", good)).toEqual([]);
    expect(problemsOf("src/http/x.ts", `import "left-pad";\n`)).toHaveLength(1);
    expect(problemsOf("src/http/x.ts", `import "fs";\n`)).toHaveLength(1);
  });

  test("names the file extension", () => {
    expect(problemsOf("src/http/x.ts", `import "./server";\n`)).toHaveLength(1);
  });
});

test("comments and strings are no imports", () => {
  const text = ` * import { a } from "../http/a.ts"\n// from "../cli/b.ts"\nconst a = "from 'x'";\n`;
  expect(importedNames(text)).toEqual([]);
});

test("a file of the most lines passes, one line more does not", () => {
  expect(problemsOf("bench/x.ts", "a\n".repeat(linesMax))).toEqual([]);
  expect(problemsOf("bench/x.ts", "a\n".repeat(linesMax + 1))).toHaveLength(1);
});
