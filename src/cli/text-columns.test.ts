import { expect, test } from "vitest";
import { columnLine, columnLines, printable, printableJson } from "./text-columns.ts";

test("columns are as wide as their widest cell", () => {
  const rows = [
    ["name", "tokens"],
    ["a", "5"],
    ["longer", "12345678"],
  ];
  expect(columnLines(rows, ["left", "right"])).toEqual([
    "name      tokens",
    "a              5",
    "longer  12345678",
  ]);
});

test("code points count, not units", () => {
  expect(
    columnLines(
      [
        ["😀", "x"],
        ["ab", "y"],
      ],
      ["left", "left"],
    ),
  ).toEqual(["😀   x", "ab  y"]);
});

test("a cell that is too wide pushes the others along", () => {
  expect(columnLine(["abc", "d", ""], [2, 2, 2], ["left", "right", "left"])).toBe("abc   d");
});

test("nothing from outside moves the cursor or turns text around", () => {
  expect(printable("a\u001b[2J\r\nb\u202ec\u2028")).toBe("a\ufffd[2J\ufffd\ufffdb\ufffdc\ufffd");
  const value = { user: '\u001b[2J\u009b\u202e\u2028"' };
  expect(printableJson(value)).toBe('{"user":"\\u001b[2J\\u009b\\u202e\\u2028\\""}');
  expect(JSON.parse(printableJson(value))).toEqual(value);
});
