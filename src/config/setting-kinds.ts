/**
 * The kinds of settings. A setting knows its help, its default, how a text from a flag or a
 * variable becomes a value, and the zod schema that every value must pass, wherever it is from.
 */
import { z } from "zod";

/** How a setting is written as a flag; `none`: only in the configuration file. */
export type FlagKind = "value" | "switch" | "list" | "none";

export interface Setting<Value> {
  readonly flag: FlagKind;
  /** Stands for the value in help texts, for example `PORT`; "" for switches. */
  readonly placeholder: string;
  /** One or two sentences. */
  readonly help: string;
  readonly schema: z.ZodType<Value>;
  /** What a right value is, to follow the word "expected". */
  readonly expected: string;
  readonly defaultValue: () => Value;
  /** The default in words, for help texts and the reference page. */
  readonly defaultText: string;
  /** The value that a text from a flag or a variable stands for, not yet checked. */
  readonly fromText: (text: string) => unknown;
  /** The same for a flag, where that differs. */
  readonly fromFlag?: (text: string) => unknown;
}

interface Description<Value> {
  readonly help: string;
  readonly defaultValue: Value | (() => Value);
  readonly defaultText?: string;
}

function defaultOf<Value>(
  description: Description<Value>,
): Pick<Setting<Value>, "defaultValue" | "defaultText"> {
  const { defaultValue, defaultText } = description;
  return {
    defaultValue:
      typeof defaultValue === "function" ? (defaultValue as () => Value) : () => defaultValue,
    defaultText: defaultText ?? String(defaultValue),
  };
}

export interface TextDescription<Value> extends Description<Value> {
  readonly placeholder: string;
  /** What a right value is; any non-empty text by default. */
  readonly pattern?: RegExp;
  readonly expected?: string;
  readonly flag?: FlagKind;
}

export function textSetting<Value extends string | undefined>(
  description: TextDescription<Value>,
): Setting<string | Exclude<Value, string>> {
  return {
    flag: description.flag ?? "value",
    placeholder: description.placeholder,
    help: description.help,
    schema: z.string().regex(description.pattern ?? /\S/),
    expected: description.expected ?? "a text that is not empty",
    ...defaultOf<string | Exclude<Value, string>>(
      description as Description<string | Exclude<Value, string>>,
    ),
    fromText: (text) => text,
  } as Setting<string | Exclude<Value, string>>;
}

export interface NumberDescription<Value> extends Description<Value> {
  readonly placeholder: string;
  readonly min: number;
  readonly max: number;
}

/** The default of a number that may be left undefined. */
const numberDefault = <Value extends number | undefined>(description: Description<Value>) =>
  defaultOf<number | Exclude<Value, number>>(
    description as Description<number | Exclude<Value, number>>,
  );

/** A whole number. */
export function integerSetting<Value extends number | undefined>(
  description: NumberDescription<Value>,
): Setting<number | Exclude<Value, number>> {
  return {
    flag: "value",
    placeholder: description.placeholder,
    help: description.help,
    schema: z.int().min(description.min).max(description.max),
    expected: `a whole number from ${description.min} to ${description.max}`,
    ...numberDefault(description),
    fromText: (text) => (/^[+-]?\d+$/.test(text.trim()) ? Number(text) : text),
  } as Setting<number | Exclude<Value, number>>;
}

export function secondsSetting<Value extends number | undefined>(
  description: NumberDescription<Value>,
): Setting<number | Exclude<Value, number>> {
  return {
    flag: "value",
    placeholder: description.placeholder,
    help: description.help,
    schema: z.number().min(description.min).max(description.max),
    expected: `a number of seconds from ${description.min} to ${description.max}`,
    ...numberDefault(description),
    fromText: (text) => (/^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : text),
  } as Setting<number | Exclude<Value, number>>;
}

export interface ChoiceDescription<Choice extends string> extends Description<Choice> {
  readonly choices: readonly Choice[];
}

export function choiceSetting<const Choice extends string>(
  description: ChoiceDescription<Choice>,
): Setting<Choice> {
  return {
    flag: "value",
    placeholder: description.choices.join("|"),
    help: description.help,
    schema: z.enum(description.choices) as unknown as z.ZodType<Choice>,
    expected: `one of ${description.choices.join(", ")}`,
    ...defaultOf(description),
    fromText: (text) => text.trim(),
  };
}

const switchTexts: ReadonlyMap<string, boolean> = new Map([
  ["1", true],
  ["true", true],
  ["yes", true],
  ["on", true],
  ["0", false],
  ["false", false],
  ["no", false],
  ["off", false],
]);

/** Off by default; the flag turns it on, a variable or the file may say true or false. */
export function switchSetting(help: string): Setting<boolean> {
  return {
    flag: "switch",
    placeholder: "",
    help,
    schema: z.boolean(),
    expected: "true or false",
    defaultValue: () => false,
    defaultText: "off",
    fromText: (text) => switchTexts.get(text.trim().toLowerCase()) ?? text,
  };
}

export interface ListDescription {
  readonly placeholder: string;
  readonly help: string;
  readonly entry: RegExp;
  readonly expected: string;
  readonly defaultText: string;
  /** Whether a flag holds one entry as it stands, commas included. */
  readonly wholeFlags?: boolean;
}

/** Empty by default. Flags repeat; every text may hold several entries between commas. */
export function listSetting(description: ListDescription): Setting<readonly string[]> {
  const entries = z.array(z.string().regex(description.entry));
  return {
    flag: "list",
    placeholder: description.placeholder,
    help: description.help,
    schema: z.preprocess(
      (value) => (typeof value === "string" ? [value] : value),
      entries,
    ) as z.ZodType<readonly string[]>,
    expected: description.expected,
    defaultValue: () => [],
    defaultText: description.defaultText,
    fromText: (text) =>
      text
        .split(",")
        .map((entry) => entry.trim())
        .filter((entry) => entry !== ""),
    ...(description.wholeFlags === true ? { fromFlag: (text: string) => text } : {}),
  };
}

const sizeUnits: ReadonlyMap<string, number> = new Map([
  ["", 1],
  ["k", 1024],
  ["kb", 1024],
  ["kib", 1024],
  ["m", 1024 ** 2],
  ["mb", 1024 ** 2],
  ["mib", 1024 ** 2],
  ["g", 1024 ** 3],
  ["gb", 1024 ** 3],
  ["gib", 1024 ** 3],
]);

function bytesOf(text: string): unknown {
  const match = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text.trim());
  const factor = sizeUnits.get(match?.[2]?.toLowerCase() ?? "");
  return match?.[1] === undefined || factor === undefined ? text : Math.round(+match[1] * factor);
}

/** Bytes, written as a number or with a unit (`16MB`; units are powers of 1,024). */
export function sizeSetting<Value extends number | undefined>(
  description: NumberDescription<Value>,
): Setting<number | Exclude<Value, number>> {
  return {
    flag: "value",
    placeholder: description.placeholder,
    help: description.help,
    schema: z.preprocess(
      (value) => (typeof value === "string" ? bytesOf(value) : value),
      z.int().min(description.min).max(description.max),
    ) as z.ZodType<number>,
    expected: `a size such as 16MB, from ${description.min} to ${description.max} bytes`,
    ...numberDefault(description),
    fromText: bytesOf,
  } as Setting<number | Exclude<Value, number>>;
}

/** Anything that only the configuration file can say. */
export function fileSetting<Value>(
  description: Description<Value> & {
    readonly schema: z.ZodType<Value>;
    readonly expected: string;
  },
): Setting<Value> {
  return {
    flag: "none",
    placeholder: "",
    help: description.help,
    schema: description.schema,
    expected: description.expected,
    ...defaultOf(description),
    fromText: (text) => text,
  };
}
