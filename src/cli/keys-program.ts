/** The commands below `completionist keys`, with their options. */
import type { Command } from "commander";
import { type LimitName, limitNames } from "../access/key-limits.ts";
import type { LoadedConfiguration } from "../config/load.ts";
import { dataSettings } from "./data-settings.ts";
import type { Handle } from "./handle.ts";
import { type KeyWords, limitOption } from "./keys-options.ts";
import { addSettingOptions } from "./setting-options.ts";

interface Json {
  readonly json?: boolean;
}

/** Every action resolves with the exit code. */
export interface KeysActions {
  create(loaded: LoadedConfiguration, words: KeyWords & Json & { name: string }): Promise<number>;
  list(loaded: LoadedConfiguration, words: Json & { readonly all?: boolean }): Promise<number>;
  update(loaded: LoadedConfiguration, name: string, words: KeyWords & Json): Promise<number>;
  rotate(loaded: LoadedConfiguration, name: string, words: Json): Promise<number>;
  revoke(loaded: LoadedConfiguration, names: readonly string[]): Promise<number>;
}

const limitHelp: Readonly<Record<LimitName, string>> = {
  requestsPerMinute: "Requests in a minute.",
  tokensPerMinute: "Prompt and completion tokens in a minute.",
  tokensPerMonth: "Prompt and completion tokens in a calendar month (UTC).",
  maxParallel: "Requests at once.",
  userRequestsPerMinute: "Requests in a minute of each `user` that requests name.",
  userTokensPerMinute: "Tokens in a minute of each `user`.",
  userTokensPerMonth: "Tokens in a calendar month of each `user`.",
  userMaxParallel: "Requests at once of each `user`.",
};

const nameHelp = "name or id of a key";

export function addKeysCommands(program: Command, actions: KeysActions, handle: Handle): void {
  const keys = program.command("keys").description("Make, list, change and end keys.");
  const add = (name: string, description: string): Command =>
    keys
      .command(name, { isDefault: name === "list" })
      .allowExcessArguments(true)
      .description(description);
  const ready = (command: Command, action: Parameters<Handle>[0]) =>
    addSettingOptions(command.action(handle(action)), dataSettings);

  const create = add("create", "Make a key and print its secret, which is shown only once.")
    .requiredOption("--name <NAME>", "What to call it: 1 to 100 characters.")
    .option("--expires <TIME>", "When it ends: a duration (30d, 12h), a date or a time.");
  addLimits(create.option("--models <LIST>", "The models it may use, with commas. (default: all)"));
  create.option("--json", "Print one JSON object, with the secret in it.");
  ready(create, (loaded, command) => actions.create(loaded, command.opts()));

  const list = add("list", "List the keys; never their secrets.")
    .option("--all", "Those that were revoked, too.")
    .option("--json", "Print one JSON array.");
  ready(list, (loaded, command) => actions.list(loaded, command.opts()));

  const update = add("update", "Change what a key may do, from its next request on.")
    .argument("<NAME>", nameHelp)
    .option("--expires <TIME>", "When it ends: a duration (30d, 12h), a date, a time, or never.");
  addLimits(
    update.option("--models <LIST>", "The models it may use, with commas, or all."),
    "none",
  );
  update.option("--json", "Print one JSON object.");
  ready(update, (loaded, command) => actions.update(loaded, command.args[0] ?? "", command.opts()));

  const rotate = add("rotate", "Give a key another secret; the one before ends at once.")
    .argument("<NAME>", nameHelp)
    .option("--json", "Print one JSON object, with the secret in it.");
  ready(rotate, (loaded, command) => actions.rotate(loaded, command.args[0] ?? "", command.opts()));

  const revoke = add("revoke", "End keys for good, running requests included. Asks nothing.");
  ready(revoke.argument("<NAME...>", "names or ids of keys"), (loaded, command) =>
    actions.revoke(loaded, command.args),
  );
}

/** The options of all limits; `none` is the word that takes one away. */
function addLimits(command: Command, none?: string): void {
  const or = none === undefined ? "" : ` Or ${none}.`;
  for (const name of limitNames) {
    command.option(`${limitOption(name)} <N>`, `${limitHelp[name]}${or}`);
  }
}
