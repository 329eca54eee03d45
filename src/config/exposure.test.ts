import { expect, test } from "vitest";
import { isLoopback, refuseOpenServer } from "./exposure.ts";

test.each(["127.0.0.1", "127.9.9.9", "localhost", "LOCALHOST", "::1", "[::1]", "::ffff:127.0.0.1"])(
  "%s is reachable from this machine only",
  (host) => expect(isLoopback(host)).toBe(true),
);

test.each(["0.0.0.0", "::", "192.168.1.2", "example.org", "127.example.org", "localhost.evil.org"])(
  "%s may be reachable from elsewhere",
  (host) => expect(isLoopback(host)).toBe(false),
);

test("beyond loopback a key or --no-auth is needed", () => {
  const open = { host: "0.0.0.0", apiKey: [], noAuth: false };
  expect(() => refuseOpenServer(open, false)).toThrow(/not 0\.0\.0\.0: set COMPLETIONIST_API_KEY/);
  refuseOpenServer(open, true);
  refuseOpenServer({ ...open, noAuth: true }, false);
  refuseOpenServer({ ...open, host: "127.0.0.1" }, false);
});
