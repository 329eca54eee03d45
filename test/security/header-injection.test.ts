/** Nothing that a client sends becomes a header line of its own in an answer. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { fakeServer } from "../../src/http/testing/fake-server.ts";
import { listen, RawClient } from "../../src/http/testing/raw-client.ts";

let app: ReturnType<typeof fakeServer>;
let port: number;

beforeAll(async () => {
  app = fakeServer();
  port = await listen(app);
});

afterAll(() => app.close());

/** The head of the answer to a body, byte by byte. */
async function headOf(body: object, headers: readonly string[] = []): Promise<string> {
  const client = await RawClient.open(port);
  client.post(body, ["Connection: close", ...headers]);
  const text = await client.end();
  expect(text).toMatch(/^HTTP\/1\.1 \d{3} /);
  return text.slice(0, text.indexOf("\r\n\r\n"));
}

const breaks = ["\r\n", "\n", "\r", "\u0000\r\n", "\u010a", "\u560a", "\u2028", "%0d%0a"];
const evil = breaks.map((lineBreak) => `a${lineBreak}x-evil: 1${lineBreak}${lineBreak}<script>`);

test.each(evil)("%j in fields and their names adds no header", async (text) => {
  for (const body of [
    { prompt: "a", model: text },
    { prompt: "a", user: text },
    { prompt: text, suffix: text, stop: [text] },
    { prompt: "a", [text]: 1 },
    { prompt: "a", logit_bias: { [text]: 1 } },
    { prompt: "a", stream: true, model: text, user: text },
    { prompt: "a", max_tokens: text },
  ]) {
    expect(await headOf(body)).not.toMatch(/^x-evil/im);
  }
});

test.each(["x-request-id", "x-client-request-id", "x-completionist-priority", "user-agent"])(
  "%s with odd bytes is refused or left out, never passed on in two lines",
  async (name) => {
    // A lone line feed or carriage return inside of a value is no HTTP at all.
    for (const value of ["a\nx-evil: 1", "a\rx-evil: 1", "a\r\n x-evil: 1", "a\u0000b", "\u00ff"]) {
      const head = await headOf({ prompt: "a" }, [`${name}: ${value}`]);
      expect(head).not.toMatch(/^x-evil/im);
      expect(head).not.toMatch(/^x-client-request-id/im);
    }
  },
);

test("an id of the client is echoed only when it is short and printable", async () => {
  expect(await headOf({ prompt: "a" }, ["x-request-id: abc-123"])).toMatch(
    /^x-client-request-id: abc-123$/im,
  );
  for (const value of ["a b", "x".repeat(201)]) {
    expect(await headOf({ prompt: "a" }, [`x-request-id: ${value}`])).not.toMatch(
      /^x-client-request-id/im,
    );
  }
});
