/**
 * The one table of settings: flags, COMPLETIONIST_* variables, keys of completionist.yaml, help
 * texts and `docs/reference/configuration.md` all come from it.
 */
import type { Setting } from "./setting-kinds.ts";
import { accessSettings } from "./settings/access-settings.ts";
import { folderSettings } from "./settings/folder-settings.ts";
import { modelSettings } from "./settings/model-settings.ts";
import { nameSettings } from "./settings/name-settings.ts";
import { serverSettings } from "./settings/server-settings.ts";

/** Settings of one section of help texts and of the reference page. */
export interface SettingSection {
  readonly title: string;
  readonly names: readonly SettingName[];
}

export const settings = {
  ...modelSettings,
  ...serverSettings,
  ...accessSettings,
  ...nameSettings,
  ...folderSettings,
} as const;

export type SettingName = keyof typeof settings;

export type Configuration = {
  readonly [Name in SettingName]: (typeof settings)[Name] extends Setting<infer Value>
    ? Value
    : never;
};

export const settingNames = Object.keys(settings) as readonly SettingName[];

/** `logLevel` as it stands in flags and in the configuration file: `log-level`. */
export function keyOf(name: SettingName): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** `logLevel` as an environment variable: `COMPLETIONIST_LOG_LEVEL`. */
export function variableOf(name: SettingName): string {
  return `COMPLETIONIST_${keyOf(name).replaceAll("-", "_").toUpperCase()}`;
}

const section = (title: string, table: object): SettingSection => ({
  title,
  names: Object.keys(table) as SettingName[],
});

export const sections: readonly SettingSection[] = [
  section("Model and engine", modelSettings),
  section("Server", serverSettings),
  section("Access and requests", accessSettings),
  section("Names of models", nameSettings),
  section("Folders and log", folderSettings),
];
