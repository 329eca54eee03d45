/** The commands of the guides about keys and usage are run in order, on a server of their own. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";
import { startServer } from "../support/server-process.ts";
import { codeBlocks, readPage } from "./support/pages.ts";
import { runShell, type ShellPlace } from "./support/shell-guide.ts";

async function place(): Promise<ShellPlace> {
  const folder = mkdtempSync(join(tmpdir(), "completionist-guide-"));
  const options = ["--model", tinyGgufFile(), "--threads", "1", "--data", folder];
  const server = await startServer(options);
  onTestFinished(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  return { url: server.url, folder };
}

function blocksOf(path: string) {
  const blocks = codeBlocks(readPage(path));
  return blocks.flatMap((block, index) => {
    if (block.language !== "sh" || block.comment?.startsWith("not run: ")) return [];
    const next = blocks[index + 1];
    return [{ ...block, shown: next?.language === "text" ? next.code : undefined }];
  });
}

/** What differs from run to run made alike: dates, and how wide columns are. */
const alike = (text: string): string =>
  text
    .replaceAll(/\d{4}-\d\d-\d\d/g, "DATE")
    .replaceAll(/ +/g, " ")
    .trim();

describe("keys and quotas", () => {
  test("every command does what the page says", async () => {
    const here = await place();
    // One session: later commands use what earlier ones have set.
    const blocks = blocksOf("docs/guides/keys-and-quotas.md");
    const code = blocks.map((block) => `${block.code}echo "=== ${block.line}"`).join("\n");
    const { code: exitCode, output, errors } = await runShell(code, here);
    expect([exitCode, errors.match(/^completionist: .*$/m)]).toEqual([0, null]);
    for (const { line, shown } of blocks) {
      if (shown === undefined) continue;
      const until = output.slice(0, output.indexOf(`=== ${line}\n`));
      expect(until.slice(until.lastIndexOf("===")).replace(/^=== .*\n/, "")).toBe(shown);
    }
    expect(output).toMatch(/^search +key_\w+ +active .* tokens-per-month 5000000 +all$/m);
    expect(output).toMatch(/^website +.* max-parallel 8, user-requests-per-minute 10 +all$/m);
    expect(output).toMatch(/^Revoked "trainee" /m);
  });
});

describe("usage and backup", () => {
  test("every command does what the page says", async () => {
    const here = await place();
    const made = await runShell("npx completionist keys create --name search", here);
    for (let requests = 0; requests < 3; requests += 1) {
      const answer = await fetch(`${here.url}/v1/completions`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          authorization: `Bearer ${made.output.trim()}`,
        },
        // Ten tokens each time, and none of them from the cache.
        body: JSON.stringify({
          prompt: [3, 4, 5, 6, 7, 8, 9, 10, 11, 12].map((token) => token + 20 * requests),
          max_tokens: 8,
          ignore_eos: true,
        }),
      });
      expect(answer.status).toBe(200);
    }
    for (const { code, line, shown } of blocksOf("docs/guides/usage-and-backup.md")) {
      const run = await runShell(code, here);
      expect([line, run.code, run.errors]).toEqual([line, 0, ""]);
      expect(run.output.trim()).not.toBe("");
      if (shown !== undefined) expect(alike(run.output)).toBe(alike(shown));
    }
  });
});
