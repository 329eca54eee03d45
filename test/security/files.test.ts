/** What the server keeps of its users is for its own user of the machine alone. */
import { lstatSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";
import { temporaryFolder } from "../../src/models/testing/temporary-folder.ts";
import { startServer } from "../support/server-process.ts";

const modeOf = (path: string): string => (lstatSync(path).mode & 0o777).toString(8);

test.skipIf(process.platform === "win32")(
  "the database, its journal and its folders can be read by nobody else",
  async () => {
    const folder = temporaryFolder();
    const data = join(folder, "data");
    const model = tinyGgufFile({ variant: "plain" });
    const server = await startServer(["--model", model, "--threads", "1", "--data", data]);
    try {
      const answer = await fetch(`${server.url}/v1/completions`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ prompt: "a", max_tokens: 1 }),
      });
      expect(answer.status).toBe(200);
      await answer.text();
      expect(modeOf(data)).toBe("700");
      const found = readdirSync(data, { withFileTypes: true });
      expect(found.map(({ name }) => name)).toContain("completionist.db");
      for (const entry of found) {
        const mode = modeOf(join(data, entry.name));
        expect([entry.name, mode]).toEqual([entry.name, entry.isDirectory() ? "700" : "600"]);
      }
    } finally {
      await server.stop();
    }
  },
);

test.skipIf(process.platform === "win32")(
  "a data folder that was there keeps its mode",
  async () => {
    const data = join(temporaryFolder(), "data");
    mkdirSync(data, { mode: 0o750 });
    const model = tinyGgufFile({ variant: "plain" });
    const server = await startServer(["--model", model, "--threads", "1", "--data", data]);
    try {
      expect(modeOf(data)).toBe("750");
      expect(modeOf(join(data, "completionist.db"))).toBe("600");
    } finally {
      await server.stop();
    }
  },
);
