import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { SourceError } from "./fetch-error.ts";
import { pipDownload } from "./pip-download.ts";
import { temporaryFolder } from "./testing/temporary-folder.ts";
import { writeZip } from "./testing/zip-writer.ts";

const wheelName = "completionist_probe-1.0-py3-none-any.whl";

/** A folder with the smallest wheel that pip accepts. */
function wheelFolder(): string {
  const folder = temporaryFolder();
  const info = "completionist_probe-1.0.dist-info";
  const text = (name: string, content: string) => ({ name, content: Buffer.from(content) });
  const wheel = writeZip([
    text("completionist_probe/model.gguf", "content"),
    text(`${info}/METADATA`, "Metadata-Version: 2.1\nName: completionist-probe\nVersion: 1.0\n"),
    text(`${info}/WHEEL`, "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"),
    text(`${info}/RECORD`, ""),
  ]);
  writeFileSync(join(folder, wheelName), wheel);
  return folder;
}

/** An environment whose programs are these shell scripts only. */
function programs(scripts: Readonly<Record<string, string>>): Record<string, string> {
  const folder = temporaryFolder();
  for (const [name, script] of Object.entries(scripts)) {
    const path = join(folder, name);
    writeFileSync(path, `#!/bin/sh\n${script}\n`);
    chmodSync(path, 0o755);
  }
  return { PATH: folder };
}

function download(
  environment: NodeJS.ProcessEnv,
  parts: { signal?: AbortSignal; timeoutMs?: number; requirement?: string } = {},
): Promise<string> {
  return pipDownload({
    requirement: parts.requirement ?? "completionist-probe==1.0",
    folder: temporaryFolder(),
    environment,
    signal: parts.signal ?? new AbortController().signal,
    onProgress: () => undefined,
    ...(parts.timeoutMs === undefined ? {} : { timeoutMs: parts.timeoutMs }),
  });
}

describe("the machine's own pip, without a network", () => {
  test("brings a wheel from where its settings say", async () => {
    const links = wheelFolder();
    const environment = { ...process.env, PIP_NO_INDEX: "1", PIP_FIND_LINKS: links };
    const path = await download(environment);
    expect(readFileSync(path).equals(readFileSync(join(links, wheelName)))).toBe(true);
  }, 60_000);

  test("fails with pip's own words", async () => {
    const environment = { ...process.env, PIP_NO_INDEX: "1", PIP_FIND_LINKS: wheelFolder() };
    const failure = download(environment, { requirement: "completionist-probe==2.0" });
    await expect(failure).rejects.toBeInstanceOf(SourceError);
    await expect(failure).rejects.toThrow(/^pip says: .*completionist-probe==2\.0/);
  }, 60_000);
});

describe.runIf(process.platform !== "win32")("machines of other kinds", () => {
  test("without Python", async () => {
    await expect(download(programs({}))).rejects.toThrow(
      "it needs Python with pip, and there is none on this machine",
    );
  });

  test("with Python, but without pip", async () => {
    const script = "echo '/usr/bin/python3: No module named pip' >&2; exit 1";
    await expect(download(programs({ python3: script }))).rejects.toThrow(
      "it needs Python with pip",
    );
  });

  test("with pip beside a Python without it", async () => {
    const environment = programs({
      python3: "echo 'No module named pip' >&2; exit 1",
      pip3: `for word; do case "$word" in --dest=*) echo wheel > "\${word#--dest=}/a.whl";; esac; done`,
    });
    const path = await download(environment);
    expect(readFileSync(path, "utf8")).toBe("wheel\n");
  });

  test("where pip cannot reach its index: the last error is the reason", async () => {
    const script =
      "echo 'WARNING: Retrying' >&2; echo 'ERROR: one' >&2; echo 'ERROR: two' >&2; exit 1";
    await expect(download(programs({ python3: script }))).rejects.toThrow("pip says: two");
  });

  test("where pip says nothing or brings nothing", async () => {
    await expect(download(programs({ python3: "exit 3" }))).rejects.toThrow(
      "pip ended with code 3",
    );
    await expect(download(programs({ python3: "exit 0" }))).rejects.toThrow("pip brought no wheel");
  });

  const sleeping = () => programs({ python3: "exec /bin/sleep 600" });

  test("where pip hangs: it is ended", async () => {
    await expect(download(sleeping(), { timeoutMs: 100 })).rejects.toThrow(
      "pip was ended after 0.1 s",
    );
  });

  test("where the user stops it: so is pip", async () => {
    const controller = new AbortController();
    const failure = download(sleeping(), { signal: controller.signal });
    setImmediate(() => controller.abort());
    await expect(failure).rejects.toThrow(/abort/i);
  });
});

test("temporary files of pip lie in the folder that was given", async () => {
  const folder = temporaryFolder();
  const environment = programs({
    python3: `echo x > "$TMPDIR/big"; for word; do case "$word" in --dest=*) echo "$TMPDIR" > "\${word#--dest=}/a.whl";; esac; done`,
  });
  mkdirSync(folder, { recursive: true });
  const path = await pipDownload({
    requirement: "a==1",
    folder,
    environment,
    signal: new AbortController().signal,
    onProgress: () => undefined,
  });
  expect(dirname(readFileSync(path, "utf8").trim())).toBe(folder);
});
