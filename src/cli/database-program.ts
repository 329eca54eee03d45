/** The commands below `completionist database`, with their options. */
import type { Command } from "commander";
import type { LoadedConfiguration } from "../config/load.ts";
import { dataSettings } from "./data-settings.ts";
import type { Handle } from "./handle.ts";
import { addSettingOptions } from "./setting-options.ts";

/** Every action resolves with the exit code. */
export interface DatabaseActions {
  backup(loaded: LoadedConfiguration, file: string): Promise<number>;
  restore(loaded: LoadedConfiguration, file: string): Promise<number>;
  prune(loaded: LoadedConfiguration, words: { readonly keep: string }): Promise<number>;
  info(loaded: LoadedConfiguration, words: { readonly json?: boolean }): Promise<number>;
}

export function addDatabaseCommands(
  program: Command,
  actions: DatabaseActions,
  handle: Handle,
): void {
  const database = program
    .command("database")
    .description("Look after the database of keys and usage.");
  const add = (name: string, description: string): Command =>
    database
      .command(name, { isDefault: name === "info" })
      .allowExcessArguments(true)
      .description(description);
  const ready = (command: Command, action: Parameters<Handle>[0]) =>
    addSettingOptions(command.action(handle(action)), dataSettings);
  const file = (command: Command) => command.args[0] ?? "";

  const info = add("info", "Tell where the database is and what is in it.");
  ready(info.option("--json", "Print one JSON object."), (loaded, command) =>
    actions.info(loaded, command.opts()),
  );
  const backup = add("backup", "Write a copy, while servers run or not (SQLite).");
  ready(backup.argument("<FILE>", "the new file"), (loaded, command) =>
    actions.backup(loaded, file(command)),
  );
  const restore = add("restore", "Put a copy back, while no server runs (SQLite). Asks nothing.");
  ready(restore.argument("<FILE>", "a file that `database backup` wrote"), (loaded, command) =>
    actions.restore(loaded, file(command)),
  );
  const prune = add("prune", "Delete old rows of the ledger. Asks nothing.");
  ready(
    prune.requiredOption("--keep <DAYS>", "The days whose rows stay, counted back from now."),
    (loaded, command) => actions.prune(loaded, command.opts()),
  );
}
