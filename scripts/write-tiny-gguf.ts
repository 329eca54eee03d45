/** Writes a tiny random-weight model file for trying things out: see `--help`. */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { TensorType } from "../src/llama/testing/tensor-data.ts";
import {
  TINY_VARIANTS,
  type TinyGgufOptions,
  type TinyVariant,
  tinyGguf,
} from "../src/llama/testing/tiny-gguf.ts";

const HELP = `Writes a tiny random-weight GGUF model for tests.

  node scripts/write-tiny-gguf.ts --output FILE [options]

  --variant NAME     ${TINY_VARIANTS.join(", ")} (default plain)
  --type NAME        f32, f16, q8_0 (default f32)
  --seed NUMBER      chooses the weights (default 1)
  --context NUMBER   tokens of context the model names (default 512)
  --layers NUMBER    default 2
  --embedding NUMBER default 64
  --heads NUMBER     default 2
`;

function main(): void {
  const { values } = parseArgs({
    options: {
      output: { type: "string" },
      variant: { type: "string" },
      type: { type: "string" },
      seed: { type: "string" },
      context: { type: "string" },
      layers: { type: "string" },
      embedding: { type: "string" },
      heads: { type: "string" },
      help: { type: "boolean" },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  if (values.output === undefined) throw new RangeError("--output FILE is missing");
  // Names and ranges are checked where the options are used, with a message for each.
  const options: TinyGgufOptions = {
    ...(values.variant !== undefined && { variant: values.variant as TinyVariant }),
    ...(values.type !== undefined && { tensorType: values.type.toLowerCase() as TensorType }),
    ...number("seed", values.seed),
    ...number("contextLength", values.context, "context"),
    ...number("layers", values.layers),
    ...number("embedding", values.embedding),
    ...number("heads", values.heads),
  };
  const bytes = tinyGguf(options);
  writeFileSync(values.output, bytes);
  process.stdout.write(`${values.output}: ${bytes.length} bytes\n`);
}

function number(key: string, text: string | undefined, flag = key): Record<string, number> {
  if (text === undefined) return {};
  if (!/^-?\d+$/.test(text)) throw new RangeError(`--${flag} takes a whole number, not "${text}"`);
  return { [key]: Number(text) };
}

try {
  main();
} catch (error) {
  process.stderr.write(`write-tiny-gguf: ${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}
