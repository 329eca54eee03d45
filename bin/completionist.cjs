#!/usr/bin/env node
// biome-ignore-all lint/style/useNodejsImportProtocol: old versions of Node do not know it.
/**
 * The command. It parses on any Node, so that an old one gets a clear line instead of a syntax
 * error, and hands over to the program: the built one, or the sources in a checkout.
 */
"use strict";

const fs = require("fs");
const path = require("path");
const url = require("url");

const nodeMajorMin = 24;

if (Number(process.versions.node.split(".")[0]) < nodeMajorMin) {
  process.stderr.write(
    `completionist needs Node.js ${nodeMajorMin} or newer, this is ${process.version}; in this folder ` +
      `\`npm install node@${nodeMajorMin}\` brings it, then start it again with npx completionist\n`,
  );
  process.exitCode = 1;
} else {
  const built = path.join(__dirname, "..", "dist", "cli", "main.js");
  const source = path.join(__dirname, "..", "src", "cli", "main.ts");
  import(url.pathToFileURL(fs.existsSync(built) ? built : source).href).catch((error) => {
    process.stderr.write(`completionist: ${error.message}\n`);
    process.exitCode = 1;
  });
}
