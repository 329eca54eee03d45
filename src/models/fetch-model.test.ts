import { createHash, randomBytes } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { FetchError, SourceError } from "./fetch-error.ts";
import { fetchModelFile, withModelLock } from "./fetch-model.ts";
import type { FetchContext, ModelSource } from "./model-sources.ts";
import { temporaryFolder } from "./testing/temporary-folder.ts";

const content = randomBytes(5000);
const wanted = {
  fileName: "model.gguf",
  sha256: createHash("sha256").update(content).digest("hex"),
};

function contextIn(folder: string, signal = new AbortController().signal) {
  const lines: string[] = [];
  const context: FetchContext = {
    folder,
    signal,
    environment: {},
    report: {
      line: (text) => lines.push(text),
      progress: () => ({ advance: () => undefined, end: () => undefined }),
    },
  };
  return { context, lines };
}

function source(id: string, fetch: ModelSource["fetch"]): ModelSource & { tries: number } {
  const made = {
    id,
    name: `source ${id}`,
    tries: 0,
    fetch: async (partFile: string, context: FetchContext) => {
      made.tries += 1;
      await fetch(partFile, context);
    },
  };
  return made;
}

const sends = (id: string, bytes: Buffer) =>
  source(id, async (partFile) => writeFileSync(partFile, bytes));
const fails = (id: string, reason: string) =>
  source(id, async () => {
    throw new SourceError(reason);
  });

test("the file is in the folder: no source is asked", async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, wanted.fileName), content);
  const asked = sends("a", content);
  const path = await fetchModelFile(wanted, [asked], contextIn(folder).context);
  expect(path).toBe(join(folder, wanted.fileName));
  expect(asked.tries).toBe(0);
});

test("sources are asked in order until one has it, and nothing else is left behind", async () => {
  const folder = temporaryFolder();
  const partOfFirst = join(folder, "model.gguf.a.part");
  const first = source("a", async (partFile) => {
    writeFileSync(partFile, content.subarray(0, 10));
    throw new SourceError("the connection was cut");
  });
  const [second, third] = [sends("b", content), sends("c", content)];
  const { context, lines } = contextIn(folder);
  const path = await fetchModelFile(wanted, [first, second, third], context);
  expect(readFileSync(path).equals(content)).toBe(true);
  expect([first.tries, second.tries, third.tries]).toEqual([1, 1, 0]);
  expect(existsSync(partOfFirst)).toBe(false);
  expect(readdirSync(folder)).toEqual([wanted.fileName]);
  expect(lines).toContain("source a failed: the connection was cut.");
});

describe("a wrong hash", () => {
  test("is never used: the next source is asked", async () => {
    const folder = temporaryFolder();
    const { context, lines } = contextIn(folder);
    const sources = [sends("a", randomBytes(5000)), sends("b", content)];
    const path = await fetchModelFile(wanted, sources, context);
    expect(readFileSync(path).equals(content)).toBe(true);
    expect(lines.join("\n")).toContain("source a failed: what it sent is not the file");
  });

  test("after a continued part: the source may send everything once more", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "model.gguf.a.part"), "a wrong beginning");
    const appends = source("a", async (partFile) => {
      const before = existsSync(partFile) ? readFileSync(partFile) : Buffer.alloc(0);
      writeFileSync(partFile, Buffer.concat([before, content.subarray(before.length)]));
    });
    const path = await fetchModelFile(wanted, [appends], contextIn(folder).context);
    expect(readFileSync(path).equals(content)).toBe(true);
    expect(appends.tries).toBe(2);
  });

  test("of a file that lies in the folder: it is fetched again", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, wanted.fileName), content.subarray(0, 100));
    const { context, lines } = contextIn(folder);
    const path = await fetchModelFile(wanted, [sends("a", content)], context);
    expect(readFileSync(path).equals(content)).toBe(true);
    expect(lines[0]).toMatch(/is damaged and is fetched again/);
  });
});

test("no source has it: one line names the folder and every source with its reason", async () => {
  const folder = temporaryFolder();
  const sources = [fails("a", "no connection"), sends("b", Buffer.from("x")), fails("c", "no pip")];
  const failure = fetchModelFile(wanted, sources, contextIn(folder).context);
  await expect(failure).rejects.toBeInstanceOf(FetchError);
  await expect(failure).rejects.toThrow(
    `model.gguf could not be fetched. Tried: the model folder ${folder}: it is not there; ` +
      "source a: no connection; source b: what it sent is not the file (its SHA-256 is not " +
      `${wanted.sha256.slice(0, 12)}...); source c: no pip.`,
  );
  expect(existsSync(join(folder, wanted.fileName))).toBe(false);
});

test("what an earlier try left is there for the next one", async () => {
  const folder = temporaryFolder();
  const part = join(folder, "model.gguf.a.part");
  const cut = source("a", async (partFile) => {
    writeFileSync(partFile, content.subarray(0, 10));
    throw new SourceError("cut");
  });
  await expect(fetchModelFile(wanted, [cut], contextIn(folder).context)).rejects.toThrow("cut");
  expect(readFileSync(part)).toHaveLength(10);
});

test.runIf(process.platform === "linux")(
  "a full disk ends the search with a clear line and leaves no part file",
  async () => {
    const folder = temporaryFolder();
    const part = join(folder, "model.gguf.a.part");
    symlinkSync("/dev/full", part);
    const second = sends("b", content);
    const { context } = contextIn(folder);
    const failure = fetchModelFile(wanted, [sends("a", content), second], context);
    await expect(failure).rejects.toThrow(`there is no space left for the model in ${folder}`);
    expect(readdirSync(folder)).toEqual([]);
    expect(second.tries).toBe(0);
  },
);

test("folders that a killed process left are removed", async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, ".pip-abc", "wheels"), { recursive: true });
  await fetchModelFile(wanted, [sends("a", content)], contextIn(folder).context);
  expect(readdirSync(folder)).toEqual([wanted.fileName]);
});

test("an abort is no failure of a source", async () => {
  const controller = new AbortController();
  const { context } = contextIn(temporaryFolder(), controller.signal);
  const aborted = source("a", async () => {
    controller.abort();
    throw new SourceError("cut");
  });
  const second = sends("b", content);
  await expect(fetchModelFile(wanted, [aborted, second], context)).rejects.toThrow(/abort/i);
  expect(second.tries).toBe(0);
});

test("two at once: the second waits and uses what the first brought", async () => {
  const folder = join(temporaryFolder(), "not", "there", "yet");
  const first = contextIn(folder);
  const second = contextIn(folder);
  const gate = Promise.withResolvers<void>();
  const inside = Promise.withResolvers<void>();
  const slow = source("a", async (partFile) => {
    inside.resolve();
    await gate.promise;
    writeFileSync(partFile, content);
  });
  const fetchBy = (context: FetchContext) =>
    withModelLock(wanted.fileName, context, () => fetchModelFile(wanted, [slow], context));
  const one = fetchBy(first.context);
  await inside.promise;
  const waits = new Promise<void>((resolve) => {
    second.lines.push = (...texts) => {
      resolve();
      return texts.length;
    };
  });
  const two = fetchBy(second.context);
  await waits;
  gate.resolve();
  expect(await one).toBe(await two);
  expect(slow.tries).toBe(1);
  expect(readdirSync(folder)).toEqual([wanted.fileName]);
});

test("a folder that cannot be made is a clear line", async () => {
  const file = join(temporaryFolder(), "file");
  writeFileSync(file, "");
  const { context } = contextIn(join(file, "models"));
  const failure = withModelLock(wanted.fileName, context, async () => "");
  await expect(failure).rejects.toThrow(/the model folder .* cannot be made \(ENOTDIR\)/);
});
