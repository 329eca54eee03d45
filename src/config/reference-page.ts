/** Writes `docs/reference/configuration.md` from the table of settings. */
import type { Setting } from "./setting-kinds.ts";
import { keyOf, type SettingName, sections, settings, variableOf } from "./settings.ts";

const head = `# Configuration

Every setting can be given in up to three places. A flag wins over an environment variable, that over
the configuration file, that over the default.

- **Flags** follow the command: \`completionist serve --port 9000\`, or \`npm start -- --port 9000\`.
- **Environment variables** begin with \`COMPLETIONIST_\`. Lists take commas between their entries. An
  empty variable counts as not set.
- **The configuration file** is \`completionist.yaml\` in the folder where the server is started, or the
  file named with \`--config\` or \`COMPLETIONIST_CONFIG\`. A key that does not exist is an error.

\`\`\`yaml
port: 9000
api-key: [first-key, second-key]
aliases:
  davinci-002: SmolLM2-135M-Instruct
models:
  SmolLM2-135M-Instruct:
    insertion: rerank
\`\`\`
`;

/** The whole page; a test compares it with the file. */
export function configurationPage(): string {
  const parts = sections.map(
    (section) => `## ${section.title}\n\n${section.names.map(entry).join("\n")}`,
  );
  return `${[head, ...parts].join("\n")}`;
}

function entry(name: SettingName): string {
  const setting: Setting<unknown> = settings[name];
  const lines = [`### ${keyOf(name)}`, "", escapeTags(setting.help), "", ...forms(name, setting)];
  lines.push(`- Value: ${escapeTags(setting.expected)}`);
  lines.push(`- Default: ${setting.defaultText}`);
  return `${lines.join("\n")}\n`;
}

function forms(name: SettingName, setting: Setting<unknown>): readonly string[] {
  if (setting.flag === "none") return ["- Only in the configuration file"];
  const value = setting.placeholder === "" ? "" : ` ${setting.placeholder}`;
  return [`- Flag: \`--${keyOf(name)}${value}\``, `- Variable: \`${variableOf(name)}\``];
}

function escapeTags(text: string): string {
  return text.replaceAll("<", "&lt;");
}
