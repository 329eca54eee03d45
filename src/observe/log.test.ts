import { describe, expect, test } from "vitest";
import { createLog, type LogFormat, type LogLevel } from "./log.ts";

function logInto(options: { level?: LogLevel; format: LogFormat; isTTY?: boolean }) {
  const lines: string[] = [];
  const log = createLog({
    level: options.level ?? "info",
    format: options.format,
    destination: { write: (text) => lines.push(text), isTTY: options.isTTY ?? false },
  });
  return { log, lines };
}

describe("json", () => {
  test("is one object a line with level, time and message", () => {
    const { log, lines } = logInto({ format: "json" });
    log.info({ port: 8080 }, "listening");
    expect(lines).toHaveLength(1);
    const fields = JSON.parse(lines[0] ?? "");
    expect(fields).toMatchObject({ level: "info", msg: "listening", port: 8080 });
    expect(new Date(fields.time).toISOString()).toBe(fields.time);
  });

  test("is what auto means away from a terminal", () => {
    const { log, lines } = logInto({ format: "auto" });
    log.warn("slow");
    expect(JSON.parse(lines[0] ?? "").level).toBe("warn");
  });
});

describe("text", () => {
  test("is what auto means on a terminal", () => {
    const { log, lines } = logInto({ format: "auto", isTTY: true });
    log.info({ model: "a", note: "two words" }, "ready");
    expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d info {2}ready model=a note="two words"\n$/);
  });

  test("shows the stack of an error", () => {
    const { log, lines } = logInto({ format: "text" });
    log.error({ err: new Error("broken") }, "failed");
    expect(lines[0]).toContain("failed\n  Error: broken\n");
  });
});

test("lines below the level are left out, silent writes nothing", () => {
  const quiet = logInto({ format: "json", level: "error" });
  quiet.log.warn("no");
  expect(quiet.lines).toEqual([]);
  const silent = logInto({ format: "json", level: "silent" });
  silent.log.fatal("no");
  expect(silent.lines).toEqual([]);
});

test("prompts, completions and keys are not written, at the top or one level down", () => {
  const { log, lines } = logInto({ format: "json" });
  const secret = "do-not-write-me";
  log.info({ prompt: secret, apiKey: secret, headers: { authorization: secret } }, "a");
  log.info({ request: { prompt: secret, suffix: secret, body: secret }, text: secret }, "b");
  expect(lines.join("")).not.toContain(secret);
});
