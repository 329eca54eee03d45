/** The examples of the guide for agents: hosts' files that start the command, and arguments. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { codeBlocks, readPage } from "../docs/support/pages.ts";
import {
  type AgentHost,
  call,
  completionTool,
  engineOptions,
  startHost,
  tinyModel,
} from "./support/agent-host.ts";

const examples = codeBlocks(readPage("docs/guides/agents.md"))
  .filter(({ language }) => language === "json")
  .map(({ line, code }) => ({ line, value: JSON.parse(code) as Record<string, unknown> }));

let host: AgentHost;

beforeAll(async () => {
  host = await startHost(engineOptions());
});

afterAll(() => host?.close());

interface HostFile {
  readonly mcpServers: {
    readonly completionist: { readonly args: string[]; readonly env?: Record<string, string> };
  };
}

const hostFiles = examples.filter(({ value }) => "mcpServers" in value);

test("the guide has files for hosts", () => {
  expect(hostFiles.length).toBeGreaterThanOrEqual(4);
});

test.each(hostFiles)("the file in line $line starts the command", async ({ value }) => {
  const { args, env } = (value as unknown as HostFile).mcpServers.completionist;
  const [program, name, ...options] = args;
  expect([program, name]).toEqual(["completionist", "mcp"]);
  const given = options.map((option) => (option.endsWith(".gguf") ? tinyModel() : option));
  // Without a model or a server the default model would be fetched.
  const all = given.some((option) => /^--(model|base-url)$/.test(option))
    ? given
    : [...given, "--model", tinyModel()];
  const started = await startHost(all, env);
  try {
    expect((await started.client.listTools()).tools).toHaveLength(3);
  } finally {
    await started.close();
  }
});

test.each(examples.filter(({ value }) => "body" in value || "input" in value))(
  "the arguments in line $line are answered",
  async ({ value }) => {
    const result = await call(host.client, "body" in value ? completionTool : "score", value);
    expect(result.isError).toBeUndefined();
  },
);
