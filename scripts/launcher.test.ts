import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";

const root = resolve(import.meta.dirname, "..");
const run = promisify(execFile);

function folderWithLauncher(): string {
  const folder = mkdtempSync(join(tmpdir(), "completionist-bin-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(join(root, "bin"), join(folder, "bin"), { recursive: true });
  return folder;
}

test("in a checkout without a build it runs the sources", async () => {
  const folder = folderWithLauncher();
  mkdirSync(join(folder, "src", "cli"), { recursive: true });
  const source = "const text: string = 'from source'; console.log(text);\n";
  writeFileSync(join(folder, "src", "cli", "main.ts"), source);
  const { stdout } = await run(process.execPath, [join(folder, "bin", "completionist.cjs")]);
  expect(stdout).toBe("from source\n");
});

test("where there is a build it runs that, with all its words", async () => {
  const folder = folderWithLauncher();
  mkdirSync(join(folder, "dist", "cli"), { recursive: true });
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  const built = "console.log(process.argv.slice(2).join(' '));\n";
  writeFileSync(join(folder, "dist", "cli", "main.js"), built);
  const words = [join(folder, "bin", "completionist.cjs"), "serve", "--port", "1"];
  const { stdout } = await run(process.execPath, words);
  expect(stdout).toBe("serve --port 1\n");
});

test("an old Node gets one line that says what to do", async () => {
  const folder = folderWithLauncher();
  const pretend = join(folder, "pretend.cjs");
  writeFileSync(
    pretend,
    `Object.defineProperty(process, "version", { value: "v16.20.2" });
     Object.defineProperty(process, "versions", { value: { node: "16.20.2" } });\n`,
  );
  const words = ["--require", pretend, join(folder, "bin", "completionist.cjs")];
  await expect(run(process.execPath, words)).rejects.toMatchObject({
    code: 1,
    stderr:
      "completionist needs Node.js 24 or newer, this is v16.20.2; in this folder `npm install " +
      "node@24` brings it, then start it again with npx completionist\n",
  });
});
