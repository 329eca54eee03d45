// biome-ignore-all lint/style/useNodejsImportProtocol: old versions of Node do not know it.
/**
 * The first step of preparing: node_modules as package-lock.json asks for it, and with it the Node
 * that everything else runs on.
 */
"use strict";

const childProcess = require("child_process");
const crypto = require("crypto");
const fs = require("fs");
const path = require("path");

function stampPath(folder) {
  return path.join(folder, "node_modules", ".completionist-installed");
}

function readJson(file) {
  try {
    return JSON.parse(fs.readFileSync(file, "utf8"));
  } catch (_error) {
    return undefined;
  }
}

/** Hash of everything that decides what `npm ci` installs; scripts and texts are left out. */
function dependencyHash(folder) {
  const manifest = readJson(path.join(folder, "package.json")) || {};
  const parts = [
    "dependencies",
    "devDependencies",
    "optionalDependencies",
    "overrides",
    "allowScripts",
  ].map((key) => JSON.stringify(manifest[key] || null));
  const hash = crypto.createHash("sha256");
  hash.update(parts.join("\n"));
  hash.update(fs.readFileSync(path.join(folder, "package-lock.json")));
  hash.update(process.platform + process.arch);
  return hash.digest("hex");
}

/**
 * Whether node_modules holds what package-lock.json asks for, as npm's own record of the last
 * installation says. So an `npm ci` by hand is not done a second time.
 */
function matchesLockFile(folder) {
  const installed = readJson(path.join(folder, "node_modules", ".package-lock.json"));
  const wanted = readJson(path.join(folder, "package-lock.json"));
  if (!installed || !wanted) return false;
  const wantedPackages = wanted.packages || {};
  const installedPackages = installed.packages || {};
  return Object.keys(wantedPackages).every((name) => {
    const want = wantedPackages[name];
    const have = installedPackages[name];
    if (name === "" || want.link) return true;
    if (have === undefined) return Boolean(want.optional || want.peer);
    return have.version === want.version;
  });
}

/** Why the dependencies must be installed, or undefined when they are in place. */
function reasonToInstall(folder) {
  if (!fs.existsSync(path.join(folder, "node_modules"))) return "node_modules is missing";
  if (readStamp(folder) === dependencyHash(folder)) return undefined;
  // What `npm ci` or `npm install` by hand brought is as good.
  if (matchesLockFile(folder) && installedNodeProblem(folder) === undefined) {
    writeStamp(folder);
    return undefined;
  }
  return "node_modules is not what package-lock.json asks for";
}

function readStamp(folder) {
  try {
    return fs.readFileSync(stampPath(folder), "utf8").trim();
  } catch (_error) {
    return undefined;
  }
}

function writeStamp(folder) {
  try {
    fs.writeFileSync(stampPath(folder), `${dependencyHash(folder)}\n`);
  } catch (_error) {
    // A read-only checkout: the comparison is simply made again next time.
  }
}

/** Undefined when the scripts of package.json will run on Node 24 or newer, else why not. */
function installedNodeProblem(folder) {
  const name = process.platform === "win32" ? "node.cmd" : "node";
  const file = path.join(folder, "node_modules", ".bin", name);
  const command = fs.existsSync(file) ? file : "node";
  // On Windows it is a batch file, which only a shell runs.
  const shell = process.platform === "win32";
  const version = shell
    ? childProcess.spawnSync(`"${command}" --version`, { encoding: "utf8", shell }).stdout
    : childProcess.spawnSync(command, ["--version"], { encoding: "utf8" }).stdout;
  const major = Number((/^v(\d+)\./.exec(version || "") || [])[1]);
  if (major >= 24) return undefined;
  return version
    ? `it brought Node ${version.trim()}, but 24 or newer is needed`
    : "it brought no Node that runs on this machine";
}

function isInside(folder, file) {
  const relative = path.relative(folder, file);
  return relative !== "" && !relative.startsWith("..") && !path.isAbsolute(relative);
}

/**
 * How to start npm: the very npm that runs this script where there is one, on a Node outside of
 * node_modules, because `npm ci` deletes node_modules first.
 */
function npmCommand(folder, environment) {
  const npmScript = environment.npm_execpath || "";
  const node = [environment.npm_node_execpath, process.execPath].filter(
    (file) => file && fs.existsSync(file) && !isInside(path.join(folder, "node_modules"), file),
  )[0];
  if (node && /npm-cli\.c?js$/.test(npmScript) && fs.existsSync(npmScript)) {
    return { file: node, first: [npmScript], shell: false };
  }
  return { file: "npm", first: [], shell: process.platform === "win32" };
}

/**
 * The environment for `npm ci` inside an npm script: settings (npm_config_*) stay, what describes
 * the running script goes, and so do folders of the node_modules that is about to be replaced.
 */
function npmEnvironment(folder, environment) {
  const result = {};
  for (const name of Object.keys(environment)) {
    if (/^npm_(lifecycle|package|command)/.test(name)) continue;
    // `npm start --omit=dev` or a production setting would leave out Node 24 itself.
    if (/^npm_config_(omit|include|only|also|production|global|prefix|dry_run)$/.test(name))
      continue;
    if (name === "NODE_ENV" || name === "INIT_CWD") continue;
    result[name] = environment[name];
  }
  const pathName = Object.keys(result).filter((name) => name.toUpperCase() === "PATH")[0];
  if (pathName) {
    result[pathName] = result[pathName]
      .split(path.delimiter)
      .filter((entry) => !isInside(folder, entry) || !/node_modules/.test(entry))
      .join(path.delimiter);
  }
  return result;
}

function install(folder) {
  const command = npmCommand(folder, process.env);
  const flags = [
    "ci",
    "--include=dev",
    "--include=optional",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
  ];
  const child = childProcess.spawn(command.file, command.first.concat(flags), {
    cwd: folder,
    env: npmEnvironment(folder, process.env),
    shell: command.shell,
    // What npm says is no part of what `npm start` prints on its standard output.
    stdio: ["ignore", 2, 2],
  });
  return new Promise((resolve, reject) => {
    child.on("error", (error) => {
      reject(new Error(`npm could not be started (${error.code || error.message})`));
    });
    child.on("close", (code, signal) => {
      if (code !== 0) {
        reject(
          new Error(
            `npm ci failed (${signal || `exit code ${code}`}); its own message is above. ` +
              "Start again when the cause is gone",
          ),
        );
        return;
      }
      const problem = installedNodeProblem(folder);
      if (problem !== undefined) {
        reject(new Error(`npm ci ended well, but ${problem}`));
        return;
      }
      writeStamp(folder);
      resolve();
    });
  });
}

module.exports = {
  name: "dependencies (npm ci)",
  reason: reasonToInstall,
  run: install,
  matchesLockFile,
  npmEnvironment,
};
