/** A page in a browser on the user's machine must not reach a server without keys. */
import { afterEach, describe, expect, test } from "vitest";
import { fakeServer } from "../../src/http/testing/fake-server.ts";

const apps: ReturnType<typeof fakeServer>[] = [];

afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
});

async function ask(headers: Record<string, string>, options: object = {}): Promise<number> {
  const app = fakeServer({ options });
  apps.push(app);
  const answer = await app.inject({
    method: "POST",
    url: "/v1/completions",
    headers: { "content-type": "application/json", ...headers },
    payload: JSON.stringify({ prompt: "a" }),
  });
  return answer.statusCode;
}

describe("bound to loopback, a name that an attacker points there is refused", () => {
  test.each([
    "evil.example",
    "evil.example:8080",
    "127.0.0.1.evil.example",
    "127.0.0.1.nip.io",
    "localhost.evil.example",
    "evil.example:127.0.0.1",
    "127.0.0.1@evil.example",
    "localhost@evil.example:8080",
    "0.0.0.0:8080",
    "[::]",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "127.1",
    "[::ffff:10.0.0.1]",
    "xn--localhost",
    "localhost%00.evil.example",
    "localhost evil.example",
  ])("%j", async (host) => {
    expect(await ask({ host })).toBe(403);
  });

  test.each([
    "localhost",
    "LOCALHOST:1",
    "localhost.",
    "127.0.0.1:8080",
    "[::1]:8080",
    "a.localhost",
  ])("%s is the machine itself", async (host) => {
    expect(await ask({ host })).toBe(200);
  });
});

describe("a page from elsewhere is refused, whatever it calls itself", () => {
  test.each([
    "https://evil.example",
    "null",
    "http://127.0.0.1.evil.example",
    "http://localhost.evil.example",
    "http://localhost@evil.example",
    "http://evil.example#localhost",
    "file://",
    "chrome-extension://abcdef",
    "localhost",
    "//localhost",
    "http://[::ffff:8.8.8.8]",
  ])("%s", async (origin) => {
    expect(await ask({ host: "localhost:8080", origin })).toBe(403);
  });

  test("and a form, which asks nobody first, is refused by its origin and by its type", async () => {
    const types = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"];
    for (const type of types) {
      const headers = { host: "localhost", "content-type": type };
      expect(await ask({ ...headers, origin: "https://evil.example" })).toBe(403);
      expect(await ask({ ...headers, origin: "http://localhost:3000" })).toBe(415);
    }
  });
});

describe("open to the network without keys", () => {
  const open = { host: "0.0.0.0" };

  test("addresses are answered, and so are programs that use any name", async () => {
    for (const host of ["192.168.1.5:8080", "[fe80::1]:8080", "box", "box.example:8080"]) {
      expect(await ask({ host }, open)).toBe(200);
    }
  });

  test("a page may be the server's own by address or by a name that is no public one", async () => {
    for (const host of ["192.168.1.5:8080", "[fd00::1]:8080", "box:8080", "box.local:8080"]) {
      expect(await ask({ host, origin: `http://${host}` }, open)).toBe(200);
    }
  });

  test("a page of a public name is no page of ours, unless the name was allowed", async () => {
    const host = "rebound.evil.example:8080";
    const headers = { host, origin: `http://${host}` };
    expect(await ask(headers, open)).toBe(403);
    expect(await ask(headers, { ...open, allowedHosts: ["rebound.evil.example"] })).toBe(200);
    expect(await ask(headers, { ...open, host: "rebound.evil.example" })).toBe(200);
  });
});
