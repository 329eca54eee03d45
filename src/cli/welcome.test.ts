import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { apiUrl, curlLine, type Welcome, welcomeText } from "./welcome.ts";

const welcome: Welcome = {
  host: "127.0.0.1",
  port: 8080,
  basePath: "",
  model: "tiny",
  needsKey: false,
};

describe("the address", () => {
  test.each<[string, string]>([
    ["127.0.0.1", "http://127.0.0.1:8080/v1"],
    ["0.0.0.0", "http://127.0.0.1:8080/v1"],
    ["::", "http://[::1]:8080/v1"],
    ["::1", "http://[::1]:8080/v1"],
    ["[::1]", "http://[::1]:8080/v1"],
    ["box.local", "http://box.local:8080/v1"],
  ])("of %s", (host, url) => {
    expect(apiUrl({ host, port: 8080, basePath: "" })).toBe(url);
    expect(URL.canParse(url)).toBe(true);
  });

  test("has the base path in front of the version", () => {
    expect(apiUrl({ host: "a", port: 1, basePath: "/llm" })).toBe("http://a:1/llm/v1");
  });
});

/** The words that a shell makes of the line, without running curl. */
function words(line: string): readonly string[] {
  const script = `curl() { for word; do printf '%s\\0' "$word"; done; }; ${line}`;
  return execFileSync("/bin/sh", ["-c", script], { encoding: "utf8" }).split("\0").slice(0, -1);
}

describe.runIf(process.platform !== "win32")("the request to paste", () => {
  test.each(["tiny", "it's a model", 'quoted "model" $HOME `id`'])("for the model %s", (model) => {
    const [url, header, type, data, body, ...more] = words(curlLine({ ...welcome, model }));
    expect([url, header, type, data]).toEqual([
      "http://127.0.0.1:8080/v1/completions",
      "-H",
      "Content-Type: application/json",
      "-d",
    ]);
    expect(JSON.parse(body ?? "")).toEqual({ model, prompt: "Once upon a time", max_tokens: 32 });
    expect(more).toEqual([]);
  });

  test("keeps the brackets of an IPv6 address and has a place for a key", () => {
    const found = words(curlLine({ ...welcome, host: "::1", needsKey: true }));
    expect(found[0]).toBe("http://[::1]:8080/v1/completions");
    expect(found).toContain("Authorization: Bearer YOUR_KEY");
  });
});

test("the welcome says whether a key is needed", () => {
  expect(welcomeText({ ...welcome, needsKey: true })).toContain("Requests need an API key");
  expect(welcomeText(welcome)).toContain("Requests need no API key");
});
