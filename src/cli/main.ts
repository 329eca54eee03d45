/** Where the program begins: runs the command line and turns failures into a line and an exit code. */
import { setFlagsFromString } from "node:v8";
import { backUp, pruneRows, restore, showFacts } from "./database.ts";
import { createKey, listKeys, revokeKeys, rotateKey, updateKey } from "./keys.ts";
import { listModels, pullModel, removeModel } from "./models.ts";
import { modelInfo } from "./models-info.ts";
import { type Actions, runCommandLine } from "./program.ts";
import { usage } from "./usage.ts";
import { describeFailure } from "./user-error.ts";
import { packageVersion } from "./version.ts";

// Before much is allocated: otherwise V8 takes what a machine has to give, and a server of small
// requests grows to hundreds of megabytes of garbage that nobody is in a hurry to collect.
setFlagsFromString("--optimize-for-size");

try {
  const models = {
    list: listModels,
    pull: pullModel,
    info: modelInfo,
    remove: removeModel,
    optimize: async (...parameters) =>
      (await import("./models-optimize.ts")).optimize(...parameters),
  } satisfies Actions["models"];
  const keys = {
    create: createKey,
    list: listKeys,
    update: updateKey,
    rotate: rotateKey,
    revoke: revokeKeys,
  };
  const database = { backup: backUp, restore, prune: pruneRows, info: showFacts };
  // Servers and engines are loaded when they are run: a small command shall be quick.
  const actions: Actions = {
    serve: async (loaded) => (await import("./serve.ts")).serve(loaded),
    models,
    keys,
    usage,
    database,
    mcp: async (...parameters) => (await import("./mcp.ts")).mcp(...parameters),
    bench: async (...parameters) => (await import("./bench.ts")).bench(...parameters),
  };
  process.exitCode = await runCommandLine(process.argv.slice(2), packageVersion(), actions);
} catch (error) {
  const { text, exitCode } = describeFailure(error);
  process.stderr.write(`completionist: ${text}\n`);
  process.exitCode = exitCode;
}
// A lingering connection or child must not keep an ended program alive.
process.exit();
