// biome-ignore-all lint/style/useNodejsImportProtocol: old versions of Node do not know it.
/**
 * The second step of preparing, for `npm start`: dist/ as it follows from src/. Built files start
 * sooner than sources whose types are stripped on the way, and take less memory while they run.
 */
"use strict";

const childProcess = require("child_process");
const crypto = require("crypto");
const fs = require("fs");
const path = require("path");

const stampName = ".built-from";
/** What decides, beside the sources, how they are compiled. */
const settingFiles = ["tsconfig.json", "tsconfig.build.json", "package-lock.json"];

function filesBelow(folder) {
  const found = [];
  for (const name of fs.readdirSync(folder).sort()) {
    const file = path.join(folder, name);
    if (fs.statSync(file).isDirectory()) found.push.apply(found, filesBelow(file));
    else found.push(file);
  }
  return found;
}

/** Hash of everything that decides what a build gives. */
function sourceHash(folder) {
  const hash = crypto.createHash("sha256");
  const settings = settingFiles.map((name) => path.join(folder, name)).filter(fs.existsSync);
  for (const file of settings.concat(filesBelow(path.join(folder, "src")))) {
    hash.update(`${path.relative(folder, file)}\n${fs.statSync(file).size}\n`);
    hash.update(fs.readFileSync(file));
  }
  return hash.digest("hex");
}

function stampPath(folder) {
  return path.join(folder, "dist", stampName);
}

/** Why dist/ must be built, or undefined when it is what the sources say. */
function reasonToBuild(folder) {
  let stamp;
  try {
    stamp = fs.readFileSync(stampPath(folder), "utf8").trim();
  } catch (_error) {
    return "it has not been built yet";
  }
  return stamp === sourceHash(folder) ? undefined : "its sources have changed";
}

function build(folder) {
  // Before, so that a change made meanwhile is noticed next time.
  const hash = sourceHash(folder);
  const windows = process.platform === "win32";
  const node = path.join(folder, "node_modules", ".bin", windows ? "node.cmd" : "node");
  const command = fs.existsSync(node) ? node : process.execPath;
  const child = childProcess.spawn(
    windows ? `"${command}"` : command,
    [path.join("scripts", "build.ts")],
    { cwd: folder, shell: windows, stdio: ["ignore", 2, 2] },
  );
  return new Promise((resolve, reject) => {
    child.on("error", (error) => {
      reject(new Error(`the build could not be started (${error.code || error.message})`));
    });
    child.on("close", (code, signal) => {
      if (code !== 0) {
        reject(new Error(`the build failed (${signal || `exit code ${code}`}); why stands above`));
        return;
      }
      fs.writeFileSync(stampPath(folder), `${hash}\n`);
      resolve();
    });
  });
}

module.exports = { name: "the program (npm run build)", reason: reasonToBuild, run: build };
