/** Makes command line options of the settings table and reads the flags back from them. */
import { type Command, Option } from "commander";
import type { Flags } from "../config/load.ts";
import type { Setting } from "../config/setting-kinds.ts";
import {
  keyOf,
  type SettingName,
  sections,
  settingNames,
  settings,
  variableOf,
} from "../config/settings.ts";

const noPrefix = "no-";

/** Adds `--config` and the options of these settings (all by default), in their sections. */
export function addSettingOptions(command: Command, names: readonly SettingName[] = settingNames) {
  command.addOption(
    new Option("--config <FILE>", "The configuration file. (default: completionist.yaml, if any)"),
  );
  for (const section of sections) {
    for (const name of section.names) {
      const setting: Setting<unknown> = settings[name];
      if (setting.flag === "none" || !names.includes(name)) continue;
      command.addOption(settingOption(name, setting).helpGroup(`${section.title}:`));
    }
  }
}

function settingOption(name: SettingName, setting: Setting<unknown>): Option {
  // Long lists of choices would leave no room for the help beside them.
  const isChoice = setting.placeholder.includes("|");
  const placeholder = isChoice ? "CHOICE" : setting.placeholder;
  const choices = isChoice ? `${setting.placeholder.replaceAll("|", ", ")}; ` : "";
  const value = placeholder === "" ? "" : ` <${placeholder}>`;
  const help = `${setting.help} (${choices}default: ${setting.defaultText}; ${variableOf(name)})`;
  const option = new Option(`--${keyOf(name)}${value}`, help);
  if (setting.flag === "list") {
    option.argParser((text: string, earlier: readonly string[] | undefined) => [
      ...(earlier ?? []),
      text,
    ]);
  }
  return option;
}

/** What commander found, by the names of the settings table. */
export function flagsOf(options: Readonly<Record<string, unknown>>): Flags {
  const flags: Partial<Record<SettingName, string | readonly string[] | true>> = {};
  for (const name of settingNames) {
    // Other options of commands may have the name of a setting that has no flag.
    if (settings[name].flag === "none") continue;
    const value = optionValue(name, options);
    if (value !== undefined) flags[name] = value as string | readonly string[] | true;
  }
  return flags;
}

/** Commander takes `--no-auth` for `auth: false`. */
function optionValue(name: SettingName, options: Readonly<Record<string, unknown>>): unknown {
  const key = keyOf(name);
  if (!key.startsWith(noPrefix)) return options[name];
  return options[key.slice(noPrefix.length)] === false ? true : undefined;
}
