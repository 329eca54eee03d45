import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  chooseAccelerator,
  findNativeFiles,
  LibraryError,
  packageNameFor,
} from "./platform-package.ts";

describe("the package of a platform", () => {
  test.each([
    ["linux", "x64", "cpu", "@node-llama-cpp/linux-x64"],
    ["linux", "x64", "cuda", "@node-llama-cpp/linux-x64-cuda"],
    ["darwin", "arm64", "cpu", "@node-llama-cpp/mac-arm64-metal"],
    ["darwin", "arm64", "metal", "@node-llama-cpp/mac-arm64-metal"],
    ["win32", "x64", "vulkan", "@node-llama-cpp/win-x64-vulkan"],
  ] as const)("%s %s %s", (platform, architecture, accelerator, name) => {
    expect(packageNameFor(platform, architecture, accelerator)).toBe(name);
  });

  test("a platform without one is named", () => {
    expect(() => packageNameFor("freebsd", "x64", "cpu")).toThrow(/freebsd on x64/);
  });

  test("an accelerator the platform lacks is refused with those it has", () => {
    expect(() => packageNameFor("darwin", "x64", "metal")).toThrow(/available: cpu/);
  });
});

describe("what computes when layers are a GPU's work", () => {
  /** A `node_modules` folder with these packages of the scope. */
  function installed(...names: readonly string[]): readonly string[] {
    const folder = mkdtempSync(join(tmpdir(), "packages-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    for (const name of names) {
      const path = join(folder, "@node-llama-cpp", name);
      mkdirSync(path, { recursive: true });
      writeFileSync(join(path, "package.json"), "{}");
    }
    return [folder];
  }

  const linux = { platform: "linux", architecture: "x64" };

  test("no layers: the processor, whatever is installed", () => {
    const folders = installed("linux-x64", "linux-x64-cuda");
    expect(chooseAccelerator(0, { ...linux, folders })).toBe("cpu");
  });

  test.each([
    [["linux-x64", "linux-x64-cuda"], "cuda"],
    [["linux-x64", "linux-x64-vulkan"], "vulkan"],
    [["linux-x64-cuda", "linux-x64-vulkan"], "cuda"],
  ] as const)("%j: %s", (names, accelerator) => {
    expect(chooseAccelerator(20, { ...linux, folders: installed(...names) })).toBe(accelerator);
  });

  test("on Apple's processors the ordinary package has Metal", () => {
    const folders = installed("mac-arm64-metal");
    const search = { platform: "darwin", architecture: "arm64", folders };
    expect(chooseAccelerator(20, search)).toBe("metal");
  });

  test("none installed: the error says what to run", () => {
    const choose = () => chooseAccelerator(20, { ...linux, folders: installed("linux-x64") });
    expect(choose).toThrow(LibraryError);
    expect(choose).toThrow(
      "--gpu-layers 20 needs a library for a GPU, and none is installed; run: npm install " +
        "@node-llama-cpp/linux-x64-cuda@3.21.1 (NVIDIA GPU) or npm install " +
        "@node-llama-cpp/linux-x64-vulkan@3.21.1 (any other GPU).",
    );
  });

  test("none made for the platform: the error says so", () => {
    const search = { platform: "darwin", architecture: "x64", folders: installed("mac-x64") };
    expect(() => chooseAccelerator(1, search)).toThrow("there is no GPU library for darwin on x64");
  });
});

describe("the native files of this machine", () => {
  test("are found by path", () => {
    const files = findNativeFiles("cpu");
    for (const path of [files.ggmlBase, files.ggml, files.llama]) {
      expect(existsSync(path), path).toBe(true);
    }
    expect(files.llama).not.toContain("common");
  });

  test.skipIf(process.platform !== "linux" || process.arch !== "x64")(
    "a package that is not installed is named, with the command that installs it",
    () => {
      expect(() => findNativeFiles("vulkan")).toThrow(LibraryError);
      expect(() => findNativeFiles("vulkan")).toThrow(
        /npm install @node-llama-cpp\/linux-x64-vulkan@3\.21\.1/,
      );
    },
  );
});
