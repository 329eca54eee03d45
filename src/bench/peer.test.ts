import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { armOf } from "./arms.ts";
import { findPeer, peerFacts } from "./peer.ts";
import { peerWords } from "./peer-server.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "completionist-peer-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

function writeProgram(place: string, script = "exit 0", mode = 0o755): string {
  mkdirSync(join(folder, place), { recursive: true });
  const path = join(folder, place, "llama-server");
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, mode);
  return path;
}

function find(path: string | undefined, environment: Record<string, string> = {}) {
  return findPeer({ path, environment, cache: join(folder, "cache") });
}

describe.skipIf(process.platform === "win32")("the peer", () => {
  test("that is named wins over the variable, that over the PATH", () => {
    const [named, variable, onPath] = ["a", "b", "c"].map((place) => writeProgram(place));
    const PATH = ["", join(folder, "nowhere"), join(folder, "c")].join(delimiter);
    const environment = { PATH, LLAMA_SERVER: variable ?? "" };
    expect(find(named, environment)).toEqual({ kind: "program", path: named });
    expect(find(undefined, environment)).toEqual({ kind: "program", path: variable });
    expect(find(undefined, { PATH })).toEqual({ kind: "program", path: onPath });
    expect(find(undefined, { PATH, LLAMA_SERVER: "" })).toEqual({ kind: "program", path: onPath });
  });

  test("is the installed wheel where there is nothing else", () => {
    expect(find(undefined)).toBeUndefined();
    const wheel = join(folder, "cache", "bench", "xllamacpp-2026.10.11549");
    mkdirSync(join(wheel, "xllamacpp"), { recursive: true });
    expect(find(undefined)).toMatchObject({ kind: "wheel", folder: wheel });
  });

  test("cannot be a file that is not there, a folder or a file that cannot be run", () => {
    const missing = join(folder, "missing");
    expect(() => find(missing)).toThrow(`--peer: there is no file ${missing}`);
    expect(() => find(folder)).toThrow("is no program that can be run");
    const plain = writeProgram("d", "exit 0", 0o644);
    expect(() => find(undefined, { LLAMA_SERVER: plain })).toThrow(
      `LLAMA_SERVER: ${plain} is no program that can be run`,
    );
  });

  test("on the PATH is passed over where it cannot be run", () => {
    writeProgram("e", "exit 0", 0o644);
    const path = writeProgram("f");
    const PATH = [join(folder, "e"), join(folder, "f")].join(delimiter);
    expect(find(undefined, { PATH })).toEqual({ kind: "program", path });
  });

  test("tells its version, on whichever output", async () => {
    const path = writeProgram("g", "echo 'version: 0.6.0 (build 1)' >&2");
    expect(await peerFacts({ kind: "program", path })).toEqual({
      name: "llama-server",
      version: "0.6.0 (build 1)",
      native: true,
    });
    const broken = writeProgram("h", "exit 3");
    await expect(peerFacts({ kind: "program", path: broken })).rejects.toThrow("cannot be run");
  });
});

test("the peer gets the context of all slots together, and its own defaults for the rest", () => {
  const arm = armOf("peer");
  if (arm.kind !== "peer") throw new Error("the peer is one");
  const words = peerWords(arm, { slots: 8, context: 1024 }, { model: "m.gguf", port: 7 });
  expect(words.join(" ")).toBe("-m m.gguf --host 127.0.0.1 --port 7 -c 8192 -np 8");
});
