/**
 * Three groups, one after the other: quick tests beside the code, then `test/`, whose files load
 * real models and so never run two at once (native engines share few cores), then the clients of
 * `test/clients/`, which share one server.
 */
import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

const workersMax = Math.max(1, Math.min(2, availableParallelism()));

export default defineConfig({
  test: {
    pool: "forks",
    environment: "node",
    teardownTimeout: 10_000,
    projects: [
      {
        extends: true,
        test: {
          name: "rooms",
          include: ["src/**/*.test.{ts,tsx}", "scripts/**/*.test.ts"],
          maxWorkers: workersMax,
          testTimeout: 20_000,
          hookTimeout: 30_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: "whole",
          include: ["test/**/*.test.ts"],
          exclude: ["test/clients/**"],
          maxWorkers: 1,
          fileParallelism: false,
          testTimeout: 120_000,
          // The first of them fetches the default model.
          hookTimeout: 300_000,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: "clients",
          include: ["test/clients/**/*.test.ts"],
          globalSetup: ["test/clients/support/shared-server.ts"],
          maxWorkers: 1,
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
