// biome-ignore-all lint/style/useNodejsImportProtocol: old versions of Node do not know it.
/**
 * Lets one process at a time prepare a folder: `npm start` and `npm test` may begin together.
 */
"use strict";

const crypto = require("crypto");
const fs = require("fs");
const os = require("os");
const path = require("path");

const lockBeatMs = 2000;
/** A holder touches its lock every two seconds; one that was silent for this long is gone. */
const lockSilenceMsMax = 60000;
const lockPollMs = 250;

/** The lock lies outside of the checkout: `npm ci` removes node_modules, git shall see nothing. */
function lockPath(folder) {
  const user = typeof process.getuid === "function" ? process.getuid() : os.userInfo().username;
  const id = crypto.createHash("sha256").update(`${user}:${folder}`).digest("hex").slice(0, 16);
  return path.join(os.tmpdir(), `completionist-prepare-${id}.lock`);
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

/** Removes the lock of a process that is gone. The rename lets only one waiter do it. */
function removeStaleLock(file) {
  let owner;
  let ageMs;
  try {
    owner = fs.readFileSync(file, "utf8");
    ageMs = Date.now() - fs.statSync(file).mtimeMs;
  } catch (_error) {
    return;
  }
  const dead = owner !== "" && !isAlive(Number(owner));
  if (!dead && ageMs < lockSilenceMsMax) return;
  const aside = `${file}.${process.pid}`;
  try {
    fs.renameSync(file, aside);
    // Another waiter was quicker and this is a fresh lock: it goes back, unless one is there.
    if (fs.readFileSync(aside, "utf8") !== owner) fs.linkSync(aside, file);
    fs.unlinkSync(aside);
  } catch (_error) {
    // Someone else removed it.
  }
}

function takeLock(file) {
  try {
    const descriptor = fs.openSync(file, "wx");
    fs.writeSync(descriptor, String(process.pid));
    fs.closeSync(descriptor);
    return true;
  } catch (error) {
    if (error.code === "EEXIST") return false;
    throw error;
  }
}

/** Runs `work` while no other process prepares `folder`. `say` is told once when it must wait. */
async function withLock(folder, say, work) {
  const file = lockPath(folder);
  let told = false;
  while (!takeLock(file)) {
    removeStaleLock(file);
    if (!told) say("another process is preparing this folder; waiting for it");
    told = true;
    await new Promise((resolve) => setTimeout(resolve, lockPollMs));
  }
  const release = () => {
    try {
      fs.unlinkSync(file);
    } catch (_error) {
      // Already gone.
    }
  };
  const beat = setInterval(() => {
    try {
      fs.utimesSync(file, new Date(), new Date());
    } catch (_error) {
      // Nobody can be kept from deleting files in a shared temporary folder.
    }
  }, lockBeatMs);
  process.on("exit", release);
  try {
    await work();
  } finally {
    clearInterval(beat);
    process.removeListener("exit", release);
    release();
  }
}

module.exports = { lockPath, withLock };
