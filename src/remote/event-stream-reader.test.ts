import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readEvents, type ServerEvent } from "./event-stream-reader.ts";

async function* pieces(bytes: Uint8Array, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  let start = 0;
  for (const cut of [...cuts, bytes.length]) {
    const end = Math.min(Math.max(cut, start), bytes.length);
    yield bytes.subarray(start, end);
    start = end;
  }
}

async function all(events: AsyncIterable<ServerEvent>): Promise<ServerEvent[]> {
  const list: ServerEvent[] = [];
  for await (const event of events) list.push(event);
  return list;
}

async function read(text: string, cuts: readonly number[] = []): Promise<ServerEvent[]> {
  return all(readEvents(pieces(Buffer.from(text), cuts)));
}

const dataOf = async (text: string) => (await read(text)).map(({ data }) => data);

describe("frames", () => {
  test.each([
    ["LF", "data: a\n\ndata: b\n\n"],
    ["CR LF", "data: a\r\n\r\ndata: b\r\n\r\n"],
    ["CR", "data: a\r\rdata: b\r\r"],
  ])("end with %s", async (_, text) => {
    expect(await dataOf(text)).toEqual(["a", "b"]);
  });

  test("comments, other fields and events without data are skipped", async () => {
    expect(await dataOf(":\n\n: ping\n\nid: 7\nretry: 5\n\nevent: x\n\ndata: a\n\n")).toEqual([
      "a",
    ]);
  });

  test("one space behind the colon is no data, others are", async () => {
    expect(await dataOf("data:a\n\ndata:  b\n\ndata\n\n")).toEqual(["a", " b", ""]);
  });

  test("several data lines are joined, and an event keeps its name to itself", async () => {
    expect(await read("event: error\ndata: a\ndata: b\n\ndata: c\n\n")).toEqual([
      { data: "a\nb", name: "error" },
      { data: "c", name: "message" },
    ]);
  });

  test("half an event at the end is dropped, but for the end itself", async () => {
    expect(await dataOf("data: a\n\ndata: b\n")).toEqual(["a"]);
    expect(await dataOf("data: a\n\ndata: [DONE]")).toEqual(["a", "[DONE]"]);
  });

  test("a byte order mark in front is skipped", async () => {
    expect(await dataOf("\uFEFFdata: a\n\n")).toEqual(["a"]);
  });
});

test("however the bytes are cut, the events are the same", async () => {
  const data = fc.array(
    fc.string({ unit: "grapheme" }).filter((text) => !/[\r\n]/.test(text)),
    {
      maxLength: 5,
    },
  );
  const cuts = fc.array(fc.nat(200), { maxLength: 8 }).map((list) => list.sort((a, b) => a - b));
  const ending = fc.constantFrom("\n", "\r\n", "\r");
  await fc.assert(
    fc.asyncProperty(data, cuts, ending, async (texts, places, end) => {
      const stream = texts.map((text) => `data: ${text}${end}${end}`).join("");
      expect((await read(stream, places)).map((event) => event.data)).toEqual(texts);
    }),
  );
});

describe("an event that never ends", () => {
  const limited = (text: string) => all(readEvents(pieces(Buffer.from(text), [20, 40]), 30));

  test("in one line is refused", async () => {
    await expect(limited(`data: ${"x".repeat(60)}`)).rejects.toThrow(RangeError);
  });

  test("in many lines is refused", async () => {
    await expect(limited("data: x\n".repeat(20))).rejects.toThrow(RangeError);
    await expect(limited("data:\n".repeat(40))).rejects.toThrow(RangeError);
  });

  test("at the limit is read", async () => {
    expect(await limited(`data: ${"x".repeat(24)}\n\n`)).toHaveLength(1);
  });
});
