import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { findNativeFiles, LibraryError, packageNameFor } from "./platform-package.ts";

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
