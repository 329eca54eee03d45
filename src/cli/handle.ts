/** How groups of commands are joined to the command line: each brings its actions, one way for all. */
import type { Command } from "commander";
import type { LoadedConfiguration } from "../config/load.ts";

/** Makes a handler for commander of an action that gets the command with what was said. */
export type Handle = (
  action: (loaded: LoadedConfiguration, command: Command) => Promise<number>,
) => (...parameters: unknown[]) => Promise<void>;
