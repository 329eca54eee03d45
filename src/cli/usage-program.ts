/** The command `completionist usage`, with its options. */
import type { Command } from "commander";
import type { LoadedConfiguration } from "../config/load.ts";
import { dataSettings } from "./data-settings.ts";
import type { Handle } from "./handle.ts";
import { addSettingOptions } from "./setting-options.ts";
import type { UsageWords } from "./usage-options.ts";

export type UsageAction = (loaded: LoadedConfiguration, words: UsageWords) => Promise<number>;

export function addUsageCommand(program: Command, action: UsageAction, handle: Handle): void {
  const command = program
    .command("usage")
    .allowExcessArguments(true)
    .description("Report what was used: sums, or every request.")
    .option("--by <LIST>", "What to tell apart: day, key, model, user. (default: day,key)")
    .option("--from <TIME>", "From this date or time on.")
    .option("--until <TIME>", "Before this date or time.")
    .option("--key <NAME>", "Of one key only: its name or id.")
    .option("--requests", "A line for each request, in the order in which they were let in.")
    .option("--csv", "Print comma separated values.")
    .option("--json", "Print a JSON array of sums, or one object a line with --requests.");
  addSettingOptions(
    command.action(handle((loaded, used) => action(loaded, used.opts()))),
    dataSettings,
  );
}
