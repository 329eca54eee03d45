#!/usr/bin/env node
// biome-ignore-all lint/style/useNodejsImportProtocol: old versions of Node do not know it.
/**
 * The command. It parses on any Node, so that an old one gets a clear line instead of a syntax
 * error, and hands over to the program: the built one, or the sources in a checkout.
 */
"use strict";

const childProcess = require("child_process");
const fs = require("fs");
const os = require("os");
const path = require("path");
const url = require("url");

const nodeMajorMin = 24;

const root = path.join(__dirname, "..");
// A checkout has a Node of its own once `npm start` or `npm test` has installed it.
const ownNode = path.join(root, "node_modules", "node", "bin", "node");

if (Number(process.versions.node.split(".")[0]) >= nodeMajorMin) {
  const source = path.join(root, "src", "cli", "main.ts");
  const built = path.join(root, "dist", "cli", "main.js");
  import(url.pathToFileURL(fs.existsSync(source) ? source : built).href).catch((error) => {
    process.stderr.write(`completionist: ${error.message}\n`);
    process.exitCode = 1;
  });
} else if (fs.existsSync(ownNode)) {
  handOver();
} else {
  process.stderr.write(
    `completionist needs Node.js ${nodeMajorMin} or newer, this is ${process.version}; in this folder ` +
      `\`npm install node@${nodeMajorMin}\` brings it, then start it again with npx completionist\n`,
  );
  process.exitCode = 1;
}

/** Runs the command on the checkout's Node: signals go through, and the exit code comes back. */
function handOver() {
  const child = childProcess.spawn(ownNode, [__filename].concat(process.argv.slice(2)), {
    stdio: "inherit",
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, () => child.kill(signal));
  }
  child.on("exit", (code, signal) => {
    process.exitCode = code === null ? 128 + (os.constants.signals[signal] || 0) : code;
  });
}
