/** The commands below `completionist models`, with their options. */
import type { Command } from "commander";
import type { LoadedConfiguration } from "../config/load.ts";
import type { SettingName } from "../config/settings.ts";
import type { Handle } from "./handle.ts";
import type { OptimizeFlags } from "./models-optimize.ts";
import { addSettingOptions } from "./setting-options.ts";

/** Every action resolves with the exit code. */
export interface ModelsActions {
  list(loaded: LoadedConfiguration): Promise<number>;
  pull(loaded: LoadedConfiguration, name: string | undefined): Promise<number>;
  info(loaded: LoadedConfiguration, name: string | undefined, json: boolean): Promise<number>;
  remove(loaded: LoadedConfiguration, name: string): Promise<number>;
  optimize(loaded: LoadedConfiguration, flags: OptimizeFlags): Promise<number>;
}

const folderSettings: readonly SettingName[] = ["cache"];
const infoSettings: readonly SettingName[] = [...folderSettings, "numerics", "context", "slots"];
const optimizeSettings: readonly SettingName[] = [...folderSettings, "threads", "numerics"];

export function addModelsCommands(program: Command, actions: ModelsActions, handle: Handle): void {
  const models = program
    .command("models")
    .description("List, fetch, inspect, improve and remove model files.");
  const list = models
    .command("list", { isDefault: true })
    .allowExcessArguments(true)
    .description("List the model folder.");
  addSettingOptions(list.action(handle(actions.list)), folderSettings);
  const pull = models
    .command("pull")
    .allowExcessArguments(true)
    .argument("[NAME]", "OWNER/REPOSITORY/FILE.gguf[@REVISION]; without it the default model")
    .description("Fetch a model file from Hugging Face, or the default model, into the folder.");
  const named = (command: Command) => command.args[0];
  addSettingOptions(
    pull.action(handle((loaded, command) => actions.pull(loaded, named(command)))),
    folderSettings,
  );
  const info = models
    .command("info")
    .allowExcessArguments(true)
    .argument("[FILE]", "a model file, or the name of one in the folder")
    .description("Tell what a model file says about itself.")
    .option("--json", "Print one JSON object.");
  addSettingOptions(
    info.action(
      handle((loaded, command) =>
        actions.info(loaded, named(command), command.opts().json === true),
      ),
    ),
    infoSettings,
  );
  const remove = models
    .command("remove")
    .allowExcessArguments(true)
    .argument("<NAME>", "a name that `models list` shows; the default model's means both its files")
    .description("Remove a model from the folder. Asks nothing.");
  addSettingOptions(
    remove.action(handle((loaded, command) => actions.remove(loaded, named(command) ?? ""))),
    folderSettings,
  );
  addOptimize(models, actions, handle);
}

function addOptimize(models: Command, actions: ModelsActions, handle: Handle): void {
  const optimize = models
    .command("optimize")
    .allowExcessArguments(true)
    .argument("[FILE]", "a model file, or the name of one in the folder")
    .description(
      "Measure on this machine how fast and how good a model is with other weight types, and say " +
        "which one to take; or convert it.",
    )
    .option("--types <LIST>", "Weight types to try, with commas. (default: those that make sense)")
    .option("--text <FILE>", "A text to judge by. (default: a built-in one, English and code)")
    .option("--rounds <N>", "Measurements of each type; medians are shown. (default: 3)")
    .option("--convert <TYPE>", "Measure nothing: write the model again with this weight type.")
    .option("--output <FILE>", "Where to write it. (default: beside the file, as NAME.TYPE.gguf)")
    .option("--force", "Replace a file that is there.")
    .option("--json", "Print one JSON object.");
  addSettingOptions(
    optimize.action(handle((loaded, command) => actions.optimize(loaded, flagsOf(command)))),
    optimizeSettings,
  );
}

function flagsOf(command: Command): OptimizeFlags {
  const options: Readonly<Record<string, string | boolean | undefined>> = command.opts();
  const text = (name: string): string | undefined => {
    const value = options[name];
    return typeof value === "string" ? value : undefined;
  };
  return {
    file: command.args[0],
    types: text("types"),
    text: text("text"),
    rounds: text("rounds"),
    convert: text("convert"),
    output: text("output"),
    force: options.force === true,
    json: options.json === true,
  };
}
