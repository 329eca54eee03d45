/** Who may ask for what, and where that is kept. */
import {
  choiceSetting,
  integerSetting,
  listSetting,
  switchSetting,
  textSetting,
} from "../setting-kinds.ts";

export const accessSettings = {
  apiKey: listSetting({
    placeholder: "KEY",
    help:
      "Keys that clients must send as `Authorization: Bearer KEY`. May be repeated. Other users " +
      "of the machine can read flags: prefer the variable or the file.",
    entry: /^[\x21-\x2b\x2d-\x7e]+$/,
    expected: "keys of printable characters without spaces and commas",
    defaultText: "none: no key is asked for",
  }),
  noAuth: switchSetting(
    "Serve without keys even beyond loopback: whoever reaches the port can use the model.",
  ),
  limits: choiceSetting({
    choices: ["openai", "extended"],
    help: "openai: logprobs up to 5, stop up to 4. extended: logprobs up to 20, stop up to 64.",
    defaultValue: "openai",
  }),
  strict: switchSetting("Refuse requests with unknown fields instead of ignoring these."),
  database: textSetting<string | undefined>({
    placeholder: "FILE|URL",
    help: "Where keys and usage are kept: a SQLite file, or a postgres:// URL.",
    defaultValue: undefined,
    defaultText: "completionist.db in the data folder",
  }),
  keepUsage: integerSetting<number | undefined>({
    placeholder: "DAYS",
    help: "Days after which rows of the usage ledger are deleted.",
    min: 1,
    max: 36_500,
    defaultValue: undefined,
    defaultText: "kept for ever",
  }),
} as const;
