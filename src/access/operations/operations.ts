/** Every operation on the database by its name. */
import { admit } from "./admit.ts";
import { identify, invalidKeys, touchKeys } from "./authenticate.ts";
import { countAll } from "./facts.ts";
import { createKey, listKeys, revokeKey, rotateKey, updateKey } from "./keys.ts";
import { openInstances, settleLost } from "./lost.ts";
import { backup, deleteOldRequests, probeWrite, tidy } from "./maintain.ts";
import { settle } from "./settle.ts";
import { listRequests, sumUsage } from "./usage.ts";

export const operations = {
  identify,
  invalidKeys,
  touchKeys,
  admit,
  settle,
  openInstances,
  settleLost,
  createKey,
  listKeys,
  revokeKey,
  rotateKey,
  updateKey,
  sumUsage,
  listRequests,
  deleteOldRequests,
  tidy,
  probeWrite,
  backup,
  countAll,
};

export type Operations = typeof operations;
