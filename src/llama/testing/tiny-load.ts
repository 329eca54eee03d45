/** Options that load a tiny model, for tests of what comes before and after loading. */
import type { LoadOptions } from "../messages.ts";
import { tinyGgufFile } from "./tiny-gguf.ts";

export const tinyLoad = {
  modelPath: tinyGgufFile(),
  contextLength: undefined,
  slots: 4,
  threads: undefined,
  numerics: "reproducible",
  kvType: "f16",
  prefixCacheBytesMax: 0,
} as const satisfies LoadOptions;
