import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { expect, test } from "vitest";
import type { Principal } from "../access/access.ts";
import { anybody } from "../access/unrecorded-access.ts";
import { ApiError } from "../contract/errors.ts";
import type { Call, CompletionSource } from "./completion-source.ts";
import type { JsonObject } from "./json.ts";
import { createMcpServer } from "./mcp-server.ts";
import { createTools, defaultToolOptions } from "./tools.ts";

interface Setting {
  readonly complete: CompletionSource["complete"];
  readonly callTimeoutMs?: number;
  readonly principal?: Principal;
}

async function connected({ complete, callTimeoutMs = 120_000, principal = anybody }: Setting) {
  const source: CompletionSource = {
    isRemote: false,
    complete,
    listModels: async () => ({ object: "list", data: [] }),
    close: async () => undefined,
  };
  const logged: object[] = [];
  const record = (fields: object) => void logged.push(fields);
  const server = createMcpServer({
    tools: createTools(source, { ...defaultToolOptions, callTimeoutMs }),
    callTimeoutMs,
    version: "1.2.3",
    principal,
    log: { info: record, warn: record, error: record },
  });
  const [near, far] = InMemoryTransport.createLinkedPair();
  await server.connect(far);
  const client = new Client({ name: "host", version: "1" });
  await client.connect(near);
  const ask = async () => {
    const body = { model: "example", prompt: "Hi" };
    const request = { name: defaultToolOptions.toolName, arguments: { body } };
    return (await client.callTool(request)) as CallToolResult;
  };
  return { client, ask, logged };
}

function errorOf({ isError, content }: CallToolResult): unknown {
  const [part] = content;
  expect(isError).toBe(true);
  return JSON.parse(part?.type === "text" ? part.text : "").error;
}

/** Ends when it is interrupted, as a run of an engine does. */
const stuck = (_: JsonObject, { signal }: Call): Promise<never> =>
  new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(new Error("interrupted")));
  });

test("a call that takes too long is interrupted, and the call says so", async () => {
  let interrupted = 0;
  const { ask, logged } = await connected({
    callTimeoutMs: 20,
    complete: (body, call) => {
      call.signal.addEventListener("abort", () => {
        interrupted += 1;
      });
      return stuck(body, call);
    },
  });
  expect(errorOf(await ask())).toEqual({
    message: expect.stringContaining("longer than 0.02 seconds"),
    type: "server_error",
    param: null,
    code: "call_timeout",
  });
  expect(interrupted).toBe(1);
  expect(logged).toEqual([]);
});

test("time in the queue counts, and the turn of those who gave up is skipped", async () => {
  const began: number[] = [];
  const release = Promise.withResolvers<void>();
  const { ask } = await connected({
    callTimeoutMs: 50,
    complete: async () => {
      began.push(began.length);
      // The first does not even obey its signal.
      if (began.length === 1) await release.promise;
      return { choices: [{ index: 0, text: "late" }] };
    },
  });
  const first = ask();
  const second = await ask();
  expect(errorOf(second)).toMatchObject({ code: "call_timeout" });
  expect(began).toEqual([0]);
  release.resolve();
  expect((await first).content).toEqual([{ type: "text", text: "late" }]);
  expect((await ask()).isError).toBeUndefined();
  expect(began).toEqual([0, 1]);
});

test("a cancelled call is interrupted and not logged", async () => {
  const [began, interrupted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { client, logged } = await connected({
    complete: (body, call) => {
      began.resolve();
      call.signal.addEventListener("abort", () => interrupted.resolve());
      return stuck(body, call);
    },
  });
  const cancelled = new AbortController();
  const request = {
    name: defaultToolOptions.toolName,
    arguments: { body: { model: "example", prompt: "Hi" } },
  };
  const running = client.callTool(request, undefined, { signal: cancelled.signal });
  const failed = expect(running).rejects.toThrow("enough");
  await began.promise;
  cancelled.abort("enough");
  await failed;
  await interrupted.promise;
  expect(logged).toEqual([]);
});

test("an error of the API is the result; one that nobody expected is logged and says nothing", async () => {
  const errors: unknown[] = [new ApiError("overloaded"), new TypeError("secret detail")];
  const { ask, logged } = await connected({ complete: () => Promise.reject(errors.shift()) });
  expect(errorOf(await ask())).toEqual({
    message: "The engine is currently overloaded, please try again later",
    type: "server_error",
    param: null,
    code: null,
  });
  expect(logged).toEqual([]);
  expect(JSON.stringify(errorOf(await ask()))).not.toContain("secret");
  expect(logged).toMatchObject([{ err: { message: "secret detail" } }]);
});

test("the run knows whose call it is", async () => {
  const principals: Principal[] = [];
  const { ask } = await connected({
    principal: { ...anybody, name: "a-key" },
    complete: async (_, call) => {
      principals.push(call.principal);
      return { choices: [] };
    },
  });
  await ask();
  expect(principals).toMatchObject([{ name: "a-key" }]);
});
