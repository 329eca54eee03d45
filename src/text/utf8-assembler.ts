/**
 * Turns the bytes of one token after another into text. A character may be spread over tokens; the
 * result is what a decoder makes of all bytes at once, whatever the split. Invalid bytes become
 * U+FFFD, one for each maximal part of a character (the rule of the WHATWG Encoding Standard).
 */

const replacement = "\ufffd";

export class Utf8Assembler {
  #codePoint = 0;
  /** Continuation bytes that the begun character still needs. */
  #missing = 0;
  /** Bounds of the next continuation byte; they rule out overlong forms and surrogates. */
  #lower = 0x80;
  #upper = 0xbf;

  /** Whether a character was begun and not completed. */
  get pending(): boolean {
    return this.#missing > 0;
  }

  /** Whether this byte, coming next, would go on with the begun character. */
  continues(byte: number): boolean {
    return this.#missing > 0 && byte >= this.#lower && byte <= this.#upper;
  }

  /** Takes bytes and gives the characters that they complete. A byte order mark is kept. */
  push(bytes: Uint8Array): string {
    let text = "";
    for (const byte of bytes) {
      if (this.#missing > 0) {
        if (this.continues(byte)) {
          text += this.#goOn(byte);
          continue;
        }
        text += this.end();
      }
      text += this.#begin(byte);
    }
    return text;
  }

  /** The end of the text: a begun character becomes U+FFFD. The assembler is then as new. */
  end(): string {
    if (this.#missing === 0) return "";
    this.#missing = 0;
    return replacement;
  }

  #begin(byte: number): string {
    if (byte < 0x80) return String.fromCharCode(byte);
    this.#lower = 0x80;
    this.#upper = 0xbf;
    if (byte >= 0xc2 && byte <= 0xdf) {
      this.#missing = 1;
      this.#codePoint = byte & 0x1f;
    } else if (byte >= 0xe0 && byte <= 0xef) {
      if (byte === 0xe0) this.#lower = 0xa0;
      if (byte === 0xed) this.#upper = 0x9f;
      this.#missing = 2;
      this.#codePoint = byte & 0x0f;
    } else if (byte >= 0xf0 && byte <= 0xf4) {
      if (byte === 0xf0) this.#lower = 0x90;
      if (byte === 0xf4) this.#upper = 0x8f;
      this.#missing = 3;
      this.#codePoint = byte & 0x07;
    } else {
      return replacement;
    }
    return "";
  }

  #goOn(byte: number): string {
    this.#codePoint = (this.#codePoint << 6) | (byte & 0x3f);
    this.#lower = 0x80;
    this.#upper = 0xbf;
    this.#missing -= 1;
    return this.#missing === 0 ? String.fromCodePoint(this.#codePoint) : "";
  }
}
