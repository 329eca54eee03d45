/**
 * Makes the one configuration: flags win over COMPLETIONIST_* variables, these over the
 * configuration file, that over defaults. A wrong value anywhere is an error that says where.
 */

import { ConfigurationError, closestName } from "./configuration-error.ts";
import { type ConfigurationFile, readConfigurationFile } from "./configuration-file.ts";
import type { Setting } from "./setting-kinds.ts";
import {
  type Configuration,
  keyOf,
  type SettingName,
  settingNames,
  settings,
  variableOf,
} from "./settings.ts";

/** Flags as the command line parser found them: texts, repeated texts, or true for a switch. */
export type Flags = { readonly [Name in SettingName]?: string | readonly string[] | true };

export interface ConfigurationSources {
  readonly flags: Flags;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** A file that was named with `--config`; it must exist. */
  readonly file: string | undefined;
  /** Where `completionist.yaml` is looked for when no file is named. */
  readonly folder: string;
}

export interface LoadedConfiguration {
  readonly configuration: Configuration;
  /** The file that was read, if any. */
  readonly file: string | undefined;
  /** Things that are not wrong enough to stop: one line each. */
  readonly warnings: readonly string[];
}

const fileVariable = "COMPLETIONIST_CONFIG";

/** Throws a ConfigurationError. */
export function loadConfiguration(sources: ConfigurationSources): LoadedConfiguration {
  const file = readConfigurationFile(
    sources.file ?? (sources.environment[fileVariable] || undefined),
    sources.folder,
  );
  const values: Partial<Record<SettingName, unknown>> = {};
  for (const name of settingNames) values[name] = settingValue(name, sources, file);
  return {
    configuration: values as Configuration,
    file: file?.path,
    warnings: unknownVariables(sources.environment),
  };
}

function settingValue(
  name: SettingName,
  sources: ConfigurationSources,
  file: ConfigurationFile | undefined,
): unknown {
  const setting: Setting<unknown> = settings[name];
  const flag = sources.flags[name];
  if (flag !== undefined) return check(setting, fromFlag(setting, flag), `--${keyOf(name)}`);
  const variable = sources.environment[variableOf(name)];
  if (setting.flag !== "none" && variable !== undefined && variable !== "") {
    return check(setting, setting.fromText(variable), variableOf(name));
  }
  const key = keyOf(name);
  if (file !== undefined && Object.hasOwn(file.values, key)) {
    return check(setting, file.values[key], `${file.path}: ${key}`);
  }
  return setting.defaultValue();
}

function fromFlag(setting: Setting<unknown>, flag: string | readonly string[] | true): unknown {
  if (flag === true) return true;
  const read = setting.fromFlag ?? setting.fromText;
  if (typeof flag === "string") return read(flag);
  return flag.flatMap((text) => read(text));
}

/**
 * One value from a caller of the library under the rules of its setting; undefined means the
 * default. Throws a ConfigurationError.
 */
export function checkSetting<Name extends SettingName>(
  name: Name,
  value: unknown,
): Configuration[Name] {
  const setting: Setting<unknown> = settings[name];
  const checked = value === undefined ? setting.defaultValue() : check(setting, value, name);
  return checked as Configuration[Name];
}

function check(setting: Setting<unknown>, value: unknown, place: string): unknown {
  const result = setting.schema.safeParse(value);
  if (result.success) return result.data;
  const shown =
    place.includes("API_KEY") || place.includes("api-key") ? "" : `, got ${show(value)}`;
  throw new ConfigurationError(`${place}: expected ${setting.expected}${shown}`);
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 60)}...` : text;
}

/** Variables of ours that no setting reads: most likely mistyped. */
function unknownVariables(environment: ConfigurationSources["environment"]): readonly string[] {
  const known = new Set([
    fileVariable,
    ...settingNames.filter((name) => settings[name].flag !== "none").map(variableOf),
  ]);
  return Object.keys(environment)
    .filter((name) => name.startsWith("COMPLETIONIST_") && !known.has(name))
    .map((name) => {
      const closest = closestName(name, known);
      const hint = closest === undefined ? "" : `; did you mean ${closest}?`;
      return `the environment variable ${name} is no setting and was ignored${hint}`;
    });
}
