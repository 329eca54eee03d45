import { describe, expect, test, vi } from "vitest";
import type { LoadedConfiguration } from "../config/load.ts";
import { keyOf, settingNames, settings } from "../config/settings.ts";
import { runCommandLine } from "./program.ts";
import { describeFailure } from "./user-error.ts";

interface Run {
  /** The action that ran, with its configuration. */
  readonly ran: string | undefined;
  readonly loaded: LoadedConfiguration | undefined;
  readonly exitCode: number;
  /** What was printed: help and version, or the line of a failure. */
  readonly output: string;
}

async function run(line: string): Promise<Run> {
  let ran: string | undefined;
  let loaded: LoadedConfiguration | undefined;
  const action = (name: string) => async (configuration: LoadedConfiguration) => {
    ran = name;
    loaded = configuration;
    return 0;
  };
  let output = "";
  const write = vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    output += text;
    return true;
  });
  let exitCode: number;
  try {
    exitCode = await runCommandLine(line.split(" ").filter(Boolean), "1.2.3", {
      serve: action("serve"),
      models: {
        list: action("list"),
        pull: action("pull"),
        info: action("info"),
        remove: action("remove"),
        optimize: action("optimize"),
      },
      keys: {
        create: action("keys create"),
        list: action("keys list"),
        update: action("keys update"),
        rotate: action("keys rotate"),
        revoke: action("keys revoke"),
      },
      usage: action("usage"),
      database: {
        backup: action("database backup"),
        restore: action("database restore"),
        prune: action("database prune"),
        info: action("database info"),
      },
      mcp: action("mcp"),
      bench: action("bench"),
    });
  } catch (error) {
    const failure = describeFailure(error);
    exitCode = failure.exitCode;
    output = failure.text;
  } finally {
    write.mockRestore();
  }
  return { ran, loaded, exitCode, output };
}

describe("commands", () => {
  test.each([
    ["", "serve"],
    ["serve", "serve"],
    ["--port 9000", "serve"],
    ["serve --port 9000", "serve"],
    ["models", "list"],
    ["models list", "list"],
    ["models pull --cache /tmp/a", "pull"],
    ["models pull owner/repository/file.gguf", "pull"],
    ["models info a.gguf --json", "info"],
    ["models remove a", "remove"],
    ["models optimize", "optimize"],
    ["keys", "keys list"],
    ["keys list --all --json --data /tmp/a", "keys list"],
    ["keys create --name a --models b,c --tokens-per-month 5", "keys create"],
    ["keys update a --expires never", "keys update"],
    ["keys rotate a", "keys rotate"],
    ["keys revoke a b c", "keys revoke"],
    ["usage --by day --database postgres://db.example/a", "usage"],
    ["database", "database info"],
    ["database backup a", "database backup"],
    ["database restore a", "database restore"],
    ["database prune --keep 90", "database prune"],
    ["models optimize a.gguf --types q8_0,q4_0 --threads 1", "optimize"],
  ])("`%s` runs %s", async (line, name) => {
    expect(await run(line)).toMatchObject({ ran: name, exitCode: 0 });
  });

  test("flags reach the configuration, before and after the command", async () => {
    const line = "serve --port 9000 --api-key a --api-key b --no-auth --strict --numerics fast";
    for (const words of [line, line.replace("serve ", "")]) {
      const { loaded } = await run(words);
      expect(loaded?.configuration).toMatchObject({
        port: 9000,
        apiKey: ["a", "b"],
        noAuth: true,
        strict: true,
        numerics: "fast",
      });
    }
  });

  test("without --no-auth it is off", async () => {
    expect((await run("serve")).loaded?.configuration.noAuth).toBe(false);
  });
});

describe("a wrong command line ends with one line and code 2", () => {
  test.each([
    ["--prot 1", "unknown option '--prot' (Did you mean --port?)"],
    ["--port", "option '--port <PORT>' argument missing"],
    ["--port abc", '--port: expected a whole number from 0 to 65535, got "abc"'],
    [
      "foo",
      'there is no command "foo"; commands: serve, models, keys, usage, database, mcp, bench',
    ],
    ["serve foo", 'serve takes no "foo"; options begin with --'],
    [
      "models foo",
      'there is no command "models foo"; commands: list, pull, info, remove, optimize',
    ],
    ["models list foo", 'list takes no "foo"; options begin with --'],
    ["models remove", "missing required argument 'NAME'"],
    ["models info a b", 'info takes no "b" after that; options begin with --'],
    ["models list --port 1", "unknown option '--port'"],
    ["keys create", "required option '--name <NAME>' not specified"],
    ["keys create a --name b", 'create takes no "a"; options begin with --'],
    ["keys revoke", "missing required argument 'NAME'"],
    ["database prune", "required option '--keep <DAYS>' not specified"],
    ["usage today", 'usage takes no "today"; options begin with --'],
    ["--config /nowhere/a.yaml", "the configuration file /nowhere/a.yaml does not exist"],
  ])("`%s`", async (line, message) => {
    const { ran, exitCode, output } = await run(line);
    expect(ran).toBeUndefined();
    expect(exitCode).toBe(2);
    expect(output).toBe(message);
  });
});

describe("help", () => {
  test.each(["--help", "serve --help"])("`%s` explains every option", async (line) => {
    const { exitCode, output, ran } = await run(line);
    expect(exitCode).toBe(0);
    expect(ran).toBeUndefined();
    for (const name of settingNames) {
      if (settings[name].flag === "none") continue;
      expect(output).toMatch(new RegExp(`^ +--${keyOf(name)}\\b.*`, "m"));
    }
  });

  test("--version is the version alone", async () => {
    expect(await run("--version")).toMatchObject({ exitCode: 0, output: "1.2.3\n" });
  });
});

describe("failures", () => {
  test("of ours show where they come from", () => {
    const { text, exitCode } = describeFailure(new TypeError("x is not a function"));
    expect(text).toContain("program.test.ts");
    expect(exitCode).toBe(70);
  });
});
