/**
 * Finds and opens the prebuilt native library for the truth programs: a second, small binding,
 * written apart from the engine's own, so that comparing the two says something.
 */
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import koffi, { type LibraryHandle } from "koffi";

/** Folder of the package and, in it, of the libraries. */
const PACKAGES: Readonly<Record<string, string>> = {
  "linux-x64": "linux-x64",
  "linux-arm64": "linux-arm64",
  "darwin-arm64": "mac-arm64-metal",
  "darwin-x64": "mac-x64",
  "win32-x64": "win-x64",
  "win32-arm64": "win-arm64",
};

/** Opens libllama with its compute backends, without its log. Call once per process. */
export function openNativeLibrary(): LibraryHandle {
  const folder = libraryFolder();
  // Some tokenizers recurse deeply: more than koffi's usual stack.
  koffi.config({ ...koffi.config(), sync_stack_size: 16 * 1024 * 1024 });
  const ggml = koffi.load(join(folder, libraryFile(folder, "ggml")));
  const llama = koffi.load(join(folder, libraryFile(folder, "llama")));
  // A native function without effect takes the log's messages; JavaScript must not be called
  // from the library's threads.
  const silence = llama.symbol("llama_time_us");
  llama.func("llama_log_set", "void", ["void *", "void *"])(silence, null);
  ggml.func("ggml_backend_load_all_from_path", "void", ["str"])(folder);
  llama.func("llama_backend_init", "void", [])();
  return llama;
}

function libraryFolder(): string {
  const name = PACKAGES[`${process.platform}-${process.arch}`];
  if (name === undefined) {
    throw new Error(`no prebuilt library for ${process.platform} on ${process.arch}`);
  }
  const entry = fileURLToPath(import.meta.resolve(`@node-llama-cpp/${name}`));
  return join(dirname(dirname(entry)), "bins", name);
}

function libraryFile(folder: string, name: string): string {
  const pattern = new RegExp(`^(lib)?${name}(\\.v[\\d.]+)?\\.(so|dylib|dll)$`);
  const file = readdirSync(folder).find((candidate) => pattern.test(candidate));
  if (file === undefined) throw new Error(`no ${name} library in ${folder}`);
  return file;
}
