import { expect, test } from "vitest";
import { renderToken } from "./render-token.ts";

test("valid UTF-8 is written as text, whatever it contains", () => {
  const encoder = new TextEncoder();
  for (const text of ["", " the", "\n", "适", "😀", "\ufffd", "\ufeff", "bytes:\\x20"]) {
    expect(renderToken(encoder.encode(text))).toBe(text);
  }
});

test("other bytes are written like the representation of Python bytes, in lower case", () => {
  expect(renderToken(Uint8Array.of(0xe9, 0x80))).toBe("bytes:\\xe9\\x80");
  expect(renderToken(Uint8Array.of(0x20, 0xe2, 0x80, 0x9c, 0xff))).toBe(
    "bytes: \\xe2\\x80\\x9c\\xff",
  );
  expect(renderToken(Uint8Array.of(0x5c, 0x0a, 0x7f, 0x41, 0xc3))).toBe(
    "bytes:\\\\\\x0a\\x7fA\\xc3",
  );
});
