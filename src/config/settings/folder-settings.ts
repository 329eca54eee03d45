/** Folders and the log. */
import { homedir } from "node:os";
import { join } from "node:path";
import { type LogFormat, type LogLevel, logFormats, logLevels } from "../../observe/log.ts";
import { choiceSetting, switchSetting, textSetting } from "../setting-kinds.ts";

export const folderSettings = {
  cache: textSetting<string>({
    placeholder: "FOLDER",
    help: "Folder for what can be fetched again: model files are in its subfolder `models`.",
    defaultValue: () => join(homedir(), ".cache", "completionist"),
    defaultText: "~/.cache/completionist",
  }),
  data: textSetting<string>({
    placeholder: "FOLDER",
    help: "Folder for what must be kept, the database above all.",
    defaultValue: () => join(homedir(), ".local", "share", "completionist"),
    defaultText: "~/.local/share/completionist",
  }),
  logLevel: choiceSetting<LogLevel>({
    choices: logLevels,
    help: "How much is logged, on standard error.",
    defaultValue: "info",
  }),
  logFormat: choiceSetting<LogFormat>({
    choices: logFormats,
    help: "auto: text on a terminal, else JSON, one object a line.",
    defaultValue: "auto",
  }),
  logPrompts: switchSetting(
    "Write prompts and completions to the log, each cut to 2,000 characters. For tracking down " +
      "one problem: whoever reads the log reads what people wrote.",
  ),
} as const;
