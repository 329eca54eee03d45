/**
 * One server for all files of this folder: the default model, with the limits that local clients
 * need. Vitest starts it before the first file and stops it after the last.
 */
import type { TestProject } from "vitest/node";
import { startServer } from "../../support/server-process.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Without a path. */
    readonly sharedServerUrl: string;
  }
}

export default async function startSharedServer(project: TestProject): Promise<() => void> {
  const server = await startServer(["--threads", "1", "--limits", "extended"]);
  project.provide("sharedServerUrl", server.url);
  return async () => {
    const exitCode = await server.stop();
    if (exitCode !== 0) throw new Error(`the server ended with ${exitCode}:\n${server.output()}`);
  };
}
