/** The command line: commands, their options and their help. Every command is a file of its own. */
import { Command, CommanderError } from "commander";
import type { BenchWords } from "../bench/bench-options.ts";
import { type LoadedConfiguration, loadConfiguration } from "../config/load.ts";
import { addBenchOptions, benchWordsOf } from "./bench-options.ts";
import { addDatabaseCommands, type DatabaseActions } from "./database-program.ts";
import { addKeysCommands, type KeysActions } from "./keys-program.ts";
import type { McpOptions } from "./mcp.ts";
import { addMcpOptions, mcpOptionsOf } from "./mcp-options.ts";
import { addModelsCommands, type ModelsActions } from "./models-program.ts";
import { addSettingOptions, flagsOf } from "./setting-options.ts";
import { addUsageCommand, type UsageAction } from "./usage-program.ts";
import { UserError, usageExitCode } from "./user-error.ts";

/** A command resolves with the exit code. */
export type Action = (loaded: LoadedConfiguration) => Promise<number>;

export interface Actions {
  readonly serve: Action;
  readonly models: ModelsActions;
  readonly keys: KeysActions;
  readonly usage: UsageAction;
  readonly database: DatabaseActions;
  readonly mcp: (loaded: LoadedConfiguration, options: McpOptions) => Promise<number>;
  readonly bench: (loaded: LoadedConfiguration, words: BenchWords) => Promise<number>;
}

/** Runs a command line without the first two words; resolves with the exit code. */
export async function runCommandLine(
  words: readonly string[],
  version: string,
  actions: Actions,
): Promise<number> {
  let exitCode = 0;
  const handle =
    (action: (loaded: LoadedConfiguration, command: Command) => Promise<number>) =>
    async (...parameters: unknown[]) => {
      const command = parameters.at(-1) as Command;
      refuseExtra(command);
      exitCode = await action(loadFrom(command), command);
    };
  const run = (action: Action) => handle((loaded) => action(loaded));
  const program = createProgram(version);
  addSettingOptions(takesNothing(program).action(run(actions.serve)));
  addSettingOptions(
    takesNothing(program.command("serve"))
      .description("Serve the API. This is also what happens without a command.")
      .action(run(actions.serve)),
  );
  addModelsCommands(takesNothing(program), actions.models, handle);
  addKeysCommands(program, actions.keys, handle);
  addUsageCommand(program, actions.usage, handle);
  addDatabaseCommands(program, actions.database, handle);
  const mcp: Action = (loaded) => actions.mcp(loaded, mcpOptionsOf(mcpCommand));
  const mcpCommand = addMcpOptions(takesNothing(program.command("mcp")).action(run(mcp)));
  const bench: Action = (loaded) => actions.bench(loaded, benchWordsOf(benchCommand));
  const benchCommand = addBenchOptions(takesNothing(program.command("bench")).action(run(bench)));
  try {
    await program.parseAsync(words, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // Help and version end in this way too, with code 0.
    if (error.exitCode === 0) return 0;
    throw new UserError(error.message.replace(/^error: /, ""), usageExitCode);
  }
  return exitCode;
}

function createProgram(version: string): Command {
  return new Command("completionist")
    .description("The complete Completions API, on your own models.")
    .usage("[command] [options]")
    .version(version, "-V, --version", "Print the version.")
    .helpOption("-h, --help", "Print this help.")
    .helpCommand("help [command]", "Print the help of a command.")
    .configureOutput({ writeErr: () => undefined })
    .enablePositionalOptions()
    .exitOverride();
}

/** Words that no command takes are refused by us: commander would only count them. */
function takesNothing(command: Command): Command {
  return command.allowExcessArguments(true);
}

function refuseExtra(command: Command): void {
  if (command.registeredArguments.some((argument) => argument.variadic)) return;
  const taken = command.registeredArguments.length;
  const first = command.args[taken];
  if (first === undefined) return;
  const group = command.parent;
  // `keys foo` runs what `keys` alone does, and nobody said the name of that.
  if (group?.parent && group.args[0] !== command.name()) {
    const own = group.commands.map((each) => each.name()).join(", ");
    throw new UserError(
      `there is no command "${group.name()} ${first}"; commands: ${own}`,
      usageExitCode,
    );
  }
  if (group !== null) {
    const more = taken === 0 ? "" : " after that";
    throw new UserError(
      `${command.name()} takes no "${first}"${more}; options begin with --`,
      usageExitCode,
    );
  }
  const names = command.commands.map((each) => each.name()).join(", ");
  throw new UserError(`there is no command "${first}"; commands: ${names}`, usageExitCode);
}

function loadFrom(command: Command): LoadedConfiguration {
  const options = givenOptions(command);
  return loadConfiguration({
    flags: flagsOf(options),
    environment: process.env,
    file: typeof options.config === "string" ? options.config : undefined,
    folder: process.cwd(),
  });
}

/** What was said in front of the command and after it; commander's own defaults are left out. */
function givenOptions(command: Command): Readonly<Record<string, unknown> & { config?: unknown }> {
  const given: Record<string, unknown> =
    command.parent === null ? {} : givenOptions(command.parent);
  for (const [name, value] of Object.entries(command.opts())) {
    if (command.getOptionValueSource(name) !== "default") given[name] = value;
  }
  return given;
}
