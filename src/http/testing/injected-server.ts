/** A fake server that is asked without a socket and closed after each test. */
import { afterEach } from "vitest";
import { fakeServer } from "./fake-server.ts";

const json = { "content-type": "application/json", host: "localhost" };
const apps: ReturnType<typeof fakeServer>[] = [];

afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
});

/** The server, and a POST of a JSON body (or of a text as it is) to it. */
export function server(...parameters: Parameters<typeof fakeServer>) {
  const app = fakeServer(...parameters);
  apps.push(app);
  const post = (body: unknown, url = "/v1/completions", headers: Record<string, string> = {}) =>
    app.inject({
      method: "POST",
      url,
      headers: { ...json, ...headers },
      payload: typeof body === "string" ? body : JSON.stringify(body),
    });
  return { app, post };
}
