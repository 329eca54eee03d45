/**
 * Compiles the WebAssembly kernels into the module that holds them: `node scripts/build-kernels.ts`.
 * The result is committed, so that neither users nor the published package need the compiler; a
 * test compares it with its source.
 */
import { readFileSync, writeFileSync } from "node:fs";
import wabt from "wabt";

const source = new URL("../src/sampling/kernels/row-kernels.wat", import.meta.url);
export const target = new URL("../src/sampling/kernels/row-kernels-binary.ts", import.meta.url);

/** The text of the module, compiled from the kernels' source. */
export async function compileKernels(): Promise<string> {
  const compiler = await wabt();
  const text = inlineBlocks(readFileSync(source, "utf8"));
  const parsed = compiler.parseWat("row-kernels.wat", text, { simd: true });
  const { buffer } = parsed.toBinary({});
  parsed.destroy();
  const lines =
    Buffer.from(buffer)
      .toString("base64")
      .match(/.{1,92}/g) ?? [];
  return [
    "/** The compiled kernels, in base64. Written by scripts/build-kernels.ts from row-kernels.wat. */",
    "export const rowKernelsBinary =",
    `${lines.map((line) => `  "${line}"`).join(" +\n")};`,
    "",
  ].join("\n");
}

/** Puts the lines of `(; define NAME ... ;)` where `(; use NAME ;)` stands. */
function inlineBlocks(text: string): string {
  const blocks = new Map<string, string>();
  const body = text.replaceAll(
    /\(; define (\w+)\n(.*?)\n\s*;\)/gs,
    (_, name: string, lines: string) => {
      blocks.set(name, lines);
      return "";
    },
  );
  return body.replaceAll(/\(; use (\w+) ;\)/g, (_, name: string) => {
    const lines = blocks.get(name);
    if (lines === undefined) throw new Error(`no block is called ${name}`);
    return lines;
  });
}

if (import.meta.main) writeFileSync(target, await compileKernels());
