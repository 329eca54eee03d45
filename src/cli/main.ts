/** Where the program begins: runs the command line and turns failures into a line and an exit code. */
import { bench } from "./bench.ts";
import { backUp, pruneRows, restore, showFacts } from "./database.ts";
import { createKey, listKeys, revokeKeys, rotateKey, updateKey } from "./keys.ts";
import { mcp } from "./mcp.ts";
import { listModels, pullModel, removeModel } from "./models.ts";
import { modelInfo } from "./models-info.ts";
import { optimize } from "./models-optimize.ts";
import { runCommandLine } from "./program.ts";
import { serve } from "./serve.ts";
import { usage } from "./usage.ts";
import { describeFailure } from "./user-error.ts";
import { packageVersion } from "./version.ts";

try {
  const models = {
    list: listModels,
    pull: pullModel,
    info: modelInfo,
    remove: removeModel,
    optimize,
  };
  const keys = {
    create: createKey,
    list: listKeys,
    update: updateKey,
    rotate: rotateKey,
    revoke: revokeKeys,
  };
  const database = { backup: backUp, restore, prune: pruneRows, info: showFacts };
  const actions = { serve, models, keys, usage, database, mcp, bench };
  process.exitCode = await runCommandLine(process.argv.slice(2), packageVersion(), actions);
} catch (error) {
  const { text, exitCode } = describeFailure(error);
  process.stderr.write(`completionist: ${text}\n`);
  process.exitCode = exitCode;
}
// A lingering connection or child must not keep an ended program alive.
process.exit();
