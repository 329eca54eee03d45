import { expect, test } from "vitest";
import { csvLine } from "./csv.ts";

test.each([
  [["a", 1, undefined, ""], "a,1,,\r\n"],
  [['say "hi"', "a,b", "two\nlines"], '"say ""hi""","a,b","two\nlines"\r\n'],
  [["=1+1", "+1", "-1", "@x", "a=b"], "'=1+1,'+1,'-1,'@x,a=b\r\n"],
  [['=cmd|" /C calc"!A0'], '"\'=cmd|"" /C calc""!A0"\r\n'],
  [[-5], "-5\r\n"],
  [["a\u001b[2Jb\u009b"], "a\ufffd[2Jb\ufffd\r\n"],
])("%j", (cells, line) => {
  expect(csvLine(cells)).toBe(line);
});
