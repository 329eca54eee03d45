// biome-ignore-all lint/style/useNodejsImportProtocol: old versions of Node do not know it.
/**
 * Runs before `npm start` and `npm test`, right after `git clone` too: brings what is missing or
 * stale, one step at a time; with the word `start`, what only `npm start` needs as well. It runs on
 * whatever Node the machine has, so it keeps to old syntax and to Node's own modules; everything
 * after it runs on the Node that the first step installs.
 */
"use strict";

const path = require("path");
const { withLock } = require("./prepare/one-at-a-time.cjs");

/**
 * What must be in place, in order. `reason(folder)` says why a step must run, or undefined when
 * what it makes is there and up to date.
 */
const commonSteps = [require("./prepare/dependencies.cjs")];
const startSteps = [require("./prepare/build.cjs")];

function say(text) {
  process.stderr.write(`completionist: ${text}\n`);
}

async function prepare(folder, steps) {
  if (steps.every((step) => step.reason(folder) === undefined)) return;
  await withLock(folder, say, async () => {
    for (const step of steps) {
      const reason = step.reason(folder);
      if (reason === undefined) continue;
      say(`preparing ${step.name}, because ${reason}`);
      await step.run(folder);
    }
  });
}

if (require.main === module) {
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));
  const wanted = process.argv[2] === "start" ? commonSteps.concat(startSteps) : commonSteps;
  prepare(path.resolve(__dirname, ".."), wanted).catch((error) => {
    say(`${error.message}.`);
    process.exitCode = 1;
  });
}
