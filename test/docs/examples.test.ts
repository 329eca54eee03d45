/**
 * Every example that a page gives is sent to a server that runs the default model: curl commands
 * and JavaScript that name http://127.0.0.1:8080. A comment before a block says what is not usual:
 *
 *   <!-- answers 400 -->   the status, where it is not 200
 *   <!-- not run: WHY -->  the example needs something that the tests do not have
 *
 * A JSON block right after a command shows its answer.
 */
import { spawn } from "node:child_process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ServerProcess, startServer } from "../support/server-process.ts";
import { expectShown, readAnswer, repeatable, send } from "./support/answer.ts";
import { readCurl } from "./support/curl.ts";
import { type CodeBlock, codeBlocks, pagePaths, readPage, root } from "./support/pages.ts";

const documentedUrl = "http://127.0.0.1:8080";
/** Guides whose examples need each other are run in order, by access-guides.test.ts. */
const inOrder = ["docs/guides/keys-and-quotas.md", "docs/guides/usage-and-backup.md"];
const pages = pagePaths.filter((path) => !inOrder.includes(path)).map(readPage);
let server: ServerProcess;

beforeAll(async () => {
  server = await startServer(["--threads", "1"]);
});

afterAll(async () => {
  expect(await server?.stop()).toBe(0);
});

interface Example {
  readonly name: string;
  readonly block: CodeBlock;
  /** The JSON that the page shows as the answer. */
  readonly shown: string | undefined;
}

function examplesOf(language: string): Example[] {
  return pages.flatMap((page) => {
    const blocks = codeBlocks(page);
    return blocks.flatMap((block, index) => {
      if (block.language !== language || !block.code.includes(documentedUrl)) return [];
      if (language === "sh" && !block.code.startsWith("curl ")) return [];
      if (block.comment?.startsWith("not run: ")) return [];
      const next = blocks[index + 1];
      const shown = next?.language === "json" ? next.code : undefined;
      return [{ name: `${block.path}:${block.line}`, block, shown }];
    });
  });
}

const curls = examplesOf("sh");
const scripts = examplesOf("js");

async function ask({ block }: Example): Promise<{ readonly status: number; parts: unknown[] }> {
  const request = readCurl(block.code.replaceAll(documentedUrl, server.url));
  const answer = await send(request);
  return { status: answer.status, parts: readAnswer(request, answer) };
}

test("the pages have examples", () => {
  for (const path of ["README.md", "README.zh-CN.md", "docs/reference/api.md", "docs/zh/api.md"]) {
    expect(curls.some(({ block }) => block.path === path)).toBe(true);
  }
  expect(scripts.length).toBeGreaterThan(0);
});

test.each(curls)("the command at $name is answered as shown", async (example) => {
  const { status, parts } = await ask(example);
  const expected = /^answers (\d+)$/.exec(example.block.comment ?? "")?.[1] ?? "200";
  expect(status).toBe(Number(expected));
  expect(parts.length).toBeGreaterThan(0);
  if (example.shown !== undefined) expectShown(JSON.parse(example.shown), parts[0]);
});

test.each(scripts)("the script at $name runs and prints something", async ({ block }) => {
  const { code, output, errors } = await runScript(
    block.code.replaceAll(documentedUrl, server.url),
  );
  expect(errors).toBe("");
  expect(code).toBe(0);
  expect(output.trim()).not.toBe("");
});

describe("examples in both languages", () => {
  test.each([
    ["README.md", "README.zh-CN.md"],
    ["docs/reference/api.md", "docs/zh/api.md"],
  ])("of %s and %s are answered alike", async (english, chinese) => {
    const [left, right] = [english, chinese].map((path) =>
      curls.filter(({ block }) => block.path === path),
    );
    expect(left?.length).toBe(right?.length);
    for (const [index, example] of (left ?? []).entries()) {
      const answers = [await ask(example), await ask(right?.[index] as Example)];
      expect(repeatable(answers[0])).toEqual(repeatable(answers[1]));
    }
  });
});

interface Outcome {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

/** A module that runs in the root of the project, where its packages are found. */
function runScript(code: string): Promise<Outcome> {
  const child = spawn(process.execPath, ["--input-type=module", "-"], { cwd: root });
  let output = "";
  let errors = "";
  child.stdout.on("data", (data: Buffer) => {
    output += data.toString();
  });
  child.stderr.on("data", (data: Buffer) => {
    errors += data.toString();
  });
  child.stdin.end(code);
  return new Promise((resolve) => {
    child.once("close", (exitCode) => resolve({ code: exitCode, output, errors }));
  });
}
