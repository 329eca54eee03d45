import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openLibrary } from "./library.ts";
import { explainRefusal, Model } from "./model.ts";
import { ModelFileError } from "./model-file-error.ts";
import { type TinyVariant, tinyGguf, tinyGgufFile } from "./testing/tiny-gguf.ts";

const library = openLibrary({ silent: true });
let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "model-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A sound file whose architecture, `llama`, got another name of equal length. */
function strangeModel(): string {
  const bytes = Buffer.from(tinyGguf());
  for (let at = bytes.indexOf("llama"); at >= 0; at = bytes.indexOf("llama", at + 1)) {
    bytes.write("blama", at, "latin1");
  }
  const path = join(folder, "strange.gguf");
  writeFileSync(path, bytes);
  return path;
}

function load(path: string): ModelFileError {
  try {
    Model.load(library, { path }).free();
  } catch (error) {
    if (error instanceof ModelFileError) return error;
    throw error;
  }
  throw new Error("the model was loaded");
}

describe("a loaded model", () => {
  test("says what it is", () => {
    const path = tinyGgufFile({ layers: 3, contextLength: 384, tensorType: "q8_0" });
    const model = Model.load(library, { path });
    expect(model.facts).toMatchObject({
      layers: 3,
      trainedContextLength: 384,
      slidingWindow: 0,
      isRecurrent: false,
      isHybrid: false,
    });
    expect(model.facts.weightBytes).toBeGreaterThan(0);
    expect(model.metadata().get("general.architecture")).toBe("llama");
    model.free();
    model.free();
    expect(() => model.pointer).toThrow(/freed/);
  });

  test.each<[TinyVariant, boolean, boolean]>([
    ["gemma3", true, false],
    ["mamba", false, true],
  ])("%s: tells how its sequences can be cut", (variant, slides, isRecurrent) => {
    const model = Model.load(library, { path: tinyGgufFile({ variant }) });
    expect(model.facts.slidingWindow > 0).toBe(slides);
    expect(model.facts.isRecurrent).toBe(isRecurrent);
    model.free();
  });
});

describe("a model that cannot be loaded", () => {
  test("is told by its file, before the library sees it", () => {
    expect(load(join(folder, "none.gguf")).reason).toBe("missing");
    const cut = join(folder, "cut.gguf");
    writeFileSync(cut, tinyGguf().subarray(0, 50_000));
    expect(load(cut).reason).toBe("damaged");
  });

  test("is refused with its architecture, which the log makes certain", async () => {
    const path = strangeModel();
    const refusal = load(path);
    expect(refusal.reason).toBe("refused");
    expect(refusal.message).toContain("blama");
    const lines = (await logOfLoading(path)).split("\n");
    const explained = explainRefusal(path, lines);
    expect(explained?.reason).toBe("unsupported");
    expect(explained?.message).toContain("architecture blama");
  });

  test("is not explained by a log that says nothing", () => {
    expect(explainRefusal("a.gguf", ["loading", "done"])).toBeUndefined();
  });
});

/** What the library writes to stderr when a process tries to load the file. */
function logOfLoading(path: string): Promise<string> {
  const modules = ["library", "model"].map((name) => new URL(`./${name}.ts`, import.meta.url).href);
  const program = `
    import { openLibrary } from ${JSON.stringify(modules[0])};
    import { Model } from ${JSON.stringify(modules[1])};
    try { Model.load(openLibrary(), { path: ${JSON.stringify(path)} }); } catch {}`;
  return new Promise((resolve, reject) => {
    const argument = ["--input-type=module", "-e", program];
    execFile(process.execPath, argument, (error, _, stderr) => {
      if (error) reject(error);
      else resolve(stderr);
    });
  });
}
