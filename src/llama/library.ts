/**
 * Opens libllama once per process: the files by path, the ABI guard, then the compute backends.
 * Everything that calls into the library must do so from one thread.
 */
import koffi, { type LibraryHandle } from "koffi";
import { guardAbi } from "./abi-guard.ts";
import { bindFunctions, type LlamaFunctions } from "./bindings.ts";
import { layouts } from "./layouts.ts";
import { prepareNativeCalls } from "./native-calls.ts";
import {
  type Accelerator,
  findNativeFiles,
  LibraryError,
  type NativeFiles,
} from "./platform-package.ts";

export interface LlamaLibrary {
  /** What `llama_version()` says. */
  readonly version: string;
  readonly accelerator: Accelerator;
  readonly functions: LlamaFunctions;
}

export interface LibraryOptions {
  readonly accelerator?: Accelerator;
  /** Keeps the library's log off stderr; failures then come without their reason. */
  readonly silent?: boolean;
}

let opened: LlamaLibrary | undefined;

/**
 * The library; opened on the first call. A process serves one accelerator: asking for another
 * later is an error. Throws a LibraryError or an AbiError, each one clear sentence.
 */
export function openLibrary(options: LibraryOptions = {}): LlamaLibrary {
  const accelerator = options.accelerator ?? "cpu";
  opened ??= open(accelerator, options.silent ?? false);
  if (opened.accelerator !== accelerator) {
    throw new LibraryError(
      `This process has loaded the ${opened.accelerator} library already, not ${accelerator}.`,
    );
  }
  return opened;
}

function open(accelerator: Accelerator, silent: boolean): LlamaLibrary {
  const files = findNativeFiles(accelerator);
  prepareNativeCalls();
  const { ggml, llama } = loadFiles(files);
  const functions = bind(llama, files);
  const version = functions.llama_version();
  guardAbi({
    version,
    sizes: {
      modelParams: koffi.sizeof(layouts.modelParams),
      contextParams: koffi.sizeof(layouts.contextParams),
      batch: koffi.sizeof(layouts.batch),
      quantizeParams: koffi.sizeof(layouts.quantizeParams),
    },
    modelParams: functions.llama_model_default_params(),
    contextParams: functions.llama_context_default_params(),
    quantizeParams: functions.llama_model_quantize_default_params(),
  });
  // A JavaScript callback could be called from compute threads and deadlock. Any native function
  // that ignores its arguments and has no effect makes a silent log.
  if (silent) functions.llama_log_set(llama.symbol("llama_time_us"), null);
  const loadBackends = ggml.func("ggml_backend_load_all_from_path", "void", ["str"]);
  loadBackends(files.folder);
  if (accelerator !== "cpu") requireGpu(accelerator, files, functions, loadBackends);
  functions.llama_backend_init();
  return { version, accelerator, functions };
}

function loadFiles(files: NativeFiles): { ggml: LibraryHandle; llama: LibraryHandle } {
  try {
    // Dependencies first: then their names resolve on systems that do not search our folder.
    koffi.load(files.ggmlBase);
    return { ggml: koffi.load(files.ggml), llama: koffi.load(files.llama) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new LibraryError(
      `The native library in ${files.folder} cannot be opened: ${reason}. On Linux it needs ` +
        "glibc 2.34 or later; Alpine Linux does not have it.",
      { cause: error },
    );
  }
}

function bind(llama: LibraryHandle, files: NativeFiles): LlamaFunctions {
  try {
    return bindFunctions(llama);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new LibraryError(`The native library ${files.llama} lacks a function: ${reason}.`, {
      cause: error,
    });
  }
}

function requireGpu(
  accelerator: Accelerator,
  files: NativeFiles,
  functions: LlamaFunctions,
  loadBackends: (folder: string) => void,
): void {
  for (const folder of files.fallbackFolders) {
    if (functions.llama_supports_gpu_offload()) return;
    loadBackends(folder);
  }
  if (!functions.llama_supports_gpu_offload()) {
    throw new LibraryError(
      `The ${accelerator} library finds no usable device on this machine; check the driver or use ` +
        "the cpu library.",
    );
  }
}
