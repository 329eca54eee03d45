import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { ApiError, type ErrorTemplate, errorTable } from "./errors.ts";

const page = readFileSync(new URL("../../docs/reference/errors.md", import.meta.url), "utf8");

describe("the table of errors", () => {
  test("is the one in docs/reference/errors.md, row by row", () => {
    const rows = page
      .split("\n")
      .filter((line) => line.startsWith("| ") && !/^\| (name|-+) /.test(line))
      .map((line) =>
        line
          .split("|")
          .map((cell) => cell.trim())
          .slice(1, -1),
      );
    const table: Record<string, ErrorTemplate> = errorTable;
    const expected = Object.entries(table).map(([name, row]) => [
      name,
      String(row.status),
      row.type,
      row.param ?? "-",
      row.code ?? "-",
      row.message,
    ]);
    expect(rows).toEqual(expected);
  });

  test.each(Object.keys(errorTable))("%s makes a body with four keys", (name) => {
    const { error } = new ApiError(name as keyof typeof errorTable).body();
    expect(Object.keys(error)).toEqual(["message", "type", "param", "code"]);
    expect(error.message).toBeTypeOf("string");
    for (const value of [error.param ?? "", error.code ?? ""]) expect(value).toBeTypeOf("string");
  });

  test("only the rate limit speaks of a rate limit, which clients look for in the text", () => {
    const table: Record<string, ErrorTemplate> = errorTable;
    for (const [name, row] of Object.entries(table)) {
      expect(/rate limit/i.test(row.message)).toBe(name === "rateLimit");
    }
  });
});

describe("ApiError", () => {
  test("fills its details in and takes them literally", () => {
    const error = new ApiError("modelNotFound", { model: "{x} $& a" });
    expect(error.message).toBe(
      "The model `{x} $& a` does not exist or you do not have access to it.",
    );
  });

  test("takes what another server said literally, and has no row then", () => {
    const said = { status: 418, type: "tea", param: "{x}", code: null, message: "short {y}" };
    const error = new ApiError(said, { x: "no", y: "no" });
    const { status, ...rest } = said;
    expect([error.status, error.body(), error.errorName]).toEqual([
      status,
      { error: rest },
      undefined,
    ]);
  });
});
