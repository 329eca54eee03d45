/** The checks of the examples, checked themselves. */
import { describe, expect, test } from "vitest";
import { expectShown, readAnswer } from "./answer.ts";
import { readCurl, shellWords } from "./curl.ts";

const url = "http://127.0.0.1:8080/v1/completions";

describe("readCurl", () => {
  test("reads headers and a body that goes over several lines", () => {
    const text = `curl -N ${url} \\\n  -H 'Content-Type: application/json' \\\n  -d '{\n  "n": 1}'\n`;
    expect(readCurl(text)).toEqual({
      url,
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{\n  "n": 1}',
    });
  });

  test("without a body it is a GET, without a type it is curl's own", () => {
    expect(readCurl(`curl ${url}`)).toMatchObject({ method: "GET", headers: {}, body: undefined });
    expect(readCurl(`curl ${url} -d {}`).headers).toEqual({
      "content-type": "application/x-www-form-urlencoded",
    });
  });

  test("refuses what it would read wrongly", () => {
    expect(() => readCurl(`curl --data @file ${url}`)).toThrow("does not know");
    expect(() => readCurl(`curl ${url}\ncurl ${url}`)).toThrow("more than one command");
    expect(() => readCurl("curl -N")).toThrow("not one URL");
    expect(() => shellWords("curl 'open")).toThrow("cannot be read");
  });
});

test("quotes join to one word, as in a shell", () => {
  expect(shellWords(`a'b c'"d \\"e"\\'f`)).toEqual([`ab cd "e'f`]);
});

describe("an answer that is not what the page shows", () => {
  const request = readCurl(`curl ${url} -d '{"stream": true}'`);
  const stream = (text: string) => () =>
    readAnswer(request, { status: 200, contentType: "text/event-stream", text });

  test("is named when a stream is none, or does not end", () => {
    const whole = { status: 200, contentType: "application/json", text: "{}" };
    expect(() => readAnswer(request, whole)).toThrow();
    expect(stream('data: {"a":1}\n\n')).toThrow();
    expect(stream('data:{"a":1}\n\ndata: [DONE]\n\n')).toThrow();
    expect(stream('data: {"a":1}\n\n:\n\ndata: [DONE]\n\n')()).toEqual([{ a: 1 }]);
  });

  test("is named when a key or a type is another, or an error has another text", () => {
    expect(() => expectShown({ a: 1 }, { a: 2 })).not.toThrow();
    expect(() => expectShown({ a: 1 }, { a: "2" })).toThrow();
    expect(() => expectShown({ a: 1 }, { a: 1, b: 1 })).toThrow();
    expect(() => expectShown({ error: { message: "x" } }, { error: { message: "y" } })).toThrow();
  });
});
