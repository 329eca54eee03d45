/** Names of models come from strangers; they are looked up, and never become paths of files. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fakeServer } from "../../src/http/testing/fake-server.ts";
import { listen, RawClient } from "../../src/http/testing/raw-client.ts";

let app: ReturnType<typeof fakeServer>;
let port: number;

beforeAll(async () => {
  app = fakeServer();
  port = await listen(app);
});

afterAll(() => app.close());

/** The path goes out as it stands: fetch would resolve its dots. */
async function get(path: string, method = "GET"): Promise<{ status: number; body: string }> {
  const client = await RawClient.open(port);
  client.send(`${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`);
  const text = await client.end();
  const [head = "", body = ""] = text.split("\r\n\r\n");
  return { status: Number(head.split(" ")[1]), body };
}

const climbing = [
  "../../../../etc/passwd",
  "..%2f..%2f..%2f..%2fetc%2fpasswd",
  "%2e%2e/%2e%2e/%2e%2e/etc/passwd",
  "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
  "..%5c..%5cwindows%5cwin.ini",
  "....//....//etc/passwd",
  "/etc/passwd",
  "%2fetc%2fpasswd",
  "file:///etc/passwd",
  "fake/../../../etc/passwd",
  "fake%00.gguf",
  "..%c0%af..%c0%afetc/passwd",
  "~/.ssh/id_rsa",
];

describe.each(["/v1/models/", "/models/", "/v1/engines/"])("%s", (route) => {
  test.each(climbing)("%s is no name of a model", async (name) => {
    const { status, body } = await get(route + name);
    expect([400, 404]).toContain(status);
    expect(JSON.parse(body).error).toMatchObject({ type: "invalid_request_error" });
    expect(body).not.toContain("root:");
  });
});

test.each(climbing)("nothing is completed by the engine %s", async (name) => {
  const { status, body } = await get(`/v1/engines/${name}/completions`, "POST");
  expect([400, 404]).toContain(status);
  expect(body).not.toContain("root:");
});

test.each([...climbing, "\u0000", "a\u0000b"])("no completion has the model %j", async (model) => {
  const response = await app.inject({
    method: "POST",
    url: "/v1/completions",
    headers: { host: "localhost", "content-type": "application/json" },
    payload: JSON.stringify({ model, prompt: "a" }),
  });
  expect(response.statusCode).toBe(404);
  expect(response.json().error.code).toBe("model_not_found");
});

test("a model with a slash in its name is found, also by a path that leads back to it", async () => {
  expect((await get("/v1/models/org/name")).status).toBe(200);
  expect((await get("/v1/models/org%2Fname")).status).toBe(200);
  expect((await get("/v1/models/org/../fake")).status).toBe(404);
});
