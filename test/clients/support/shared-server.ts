/**
 * One server for all files of this folder: the default model, with the limits that local clients
 * need. Vitest starts it before the first file and stops it after the last.
 */
import type { TestProject } from "vitest/node";
import { startServer } from "../../support/server-process.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** The address without a path, or why there is none. */
    readonly sharedServer: { readonly url: string } | { readonly failure: string };
  }
}

export default async function startSharedServer(
  project: TestProject,
): Promise<(() => Promise<void>) | undefined> {
  try {
    const server = await startServer(["--threads", "1", "--limits", "extended"]);
    project.provide("sharedServer", { url: server.url });
    return async () => {
      const exitCode = await server.stop();
      if (exitCode !== 0) throw new Error(`the server ended with ${exitCode}:\n${server.output()}`);
    };
  } catch (error) {
    // Thrown here it would end the whole run; the tests that need the server fail with it instead.
    project.provide("sharedServer", { failure: String(error) });
    return undefined;
  }
}
