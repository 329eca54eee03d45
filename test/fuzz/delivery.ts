/** How requests reach the server: in one piece, in many, in a row, with lies, or only in part. */
import type { FuzzRequest } from "./fuzz-case.ts";
import type { Random } from "./random.ts";

export type Step =
  | { readonly kind: "send"; readonly bytes: Buffer }
  | { readonly kind: "wait"; readonly ms: number }
  /** Nothing more is sent, answers are still read. */
  | { readonly kind: "finish" }
  /** The connection is thrown away without reading. */
  | { readonly kind: "cut" };

export interface Delivery {
  readonly name: string;
  readonly steps: readonly Step[];
  /** With fewer answers than this before the connection closes something is wrong. */
  readonly answersMin: number;
  /** With that many answers the exchange is over. */
  readonly answersMax: number;
}

const send = (...parts: (string | Buffer)[]): Step => ({
  kind: "send",
  bytes: Buffer.concat(parts.map((part) => (typeof part === "string" ? latin(part) : part))),
});

const latin = (text: string): Buffer => Buffer.from(text, "latin1");

export function deliver(requests: readonly FuzzRequest[], random: Random): Delivery {
  const count = requests.length;
  const wires = requests.map((request) => wire(request, random));
  const whole = Buffer.concat(wires);
  if (count > 1) {
    // A refused request may close the connection in front of those behind it.
    return { name: "pipelined", steps: [send(whole)], answersMin: 1, answersMax: count };
  }
  const one = (name: string, ...steps: Step[]): Delivery => ({
    name,
    steps,
    answersMin: 1,
    answersMax: 1,
  });
  const none = (name: string, ...steps: Step[]): Delivery => ({
    name,
    steps,
    answersMin: 0,
    answersMax: 1,
  });
  const at = random.integer(whole.length + 1);
  const pause: Step = { kind: "wait", ms: random.between(0, 15) };
  switch (random.integer(24)) {
    case 0:
    case 1:
      return one("in pieces", send(whole.subarray(0, at)), pause, send(whole.subarray(at)));
    case 2: // the server takes it that the client has left, and need not answer
      return none("then finished", send(whole), { kind: "finish" });
    case 3:
      return none("half sent", send(whole.subarray(0, at)), pause, { kind: "cut" });
    case 4:
      return none("cut while answered", send(whole), pause, { kind: "cut" });
    case 5:
      return none("half sent, finished", send(whole.subarray(0, at)), { kind: "finish" });
    case 6:
      return none("cut at once", send(whole), { kind: "cut" });
    default:
      return one("whole", send(whole));
  }
}

function wire(request: FuzzRequest, random: Random): Buffer {
  const { method, path, headers, body } = request;
  const lines = [`${method} ${path} HTTP/1.1`, "host: 127.0.0.1"];
  for (const [name, value] of headers) lines.push(`${name}: ${value}`);
  const chunked = random.chance(0.1);
  if (chunked) lines.push("transfer-encoding: chunked");
  else if (body.length > 0 || random.chance(0.5)) lines.push(`content-length: ${body.length}`);
  const head = latin(`${lines.join("\r\n")}\r\n\r\n`);
  return Buffer.concat([head, chunked ? chunks(body, random) : body]);
}

function chunks(body: Buffer, random: Random): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < body.length; ) {
    const size = Math.min(body.length - at, random.between(1, Math.max(1, body.length)));
    const extension = random.chance(0.1) ? ";a=b" : "";
    parts.push(latin(`${size.toString(16)}${extension}\r\n`), body.subarray(at, at + size));
    parts.push(latin("\r\n"));
    at += size;
  }
  return Buffer.concat([
    ...parts,
    latin(random.chance(0.1) ? "0\r\nx-tail: 1\r\n\r\n" : "0\r\n\r\n"),
  ]);
}

const line = "POST /v1/completions HTTP/1.1\r\nhost: 127.0.0.1\r\n";
const body = '{"prompt":"a","max_tokens":1}';

/** Bytes that are no request, or a request that contradicts itself. Each is to be answered. */
const malformed: readonly (readonly [name: string, text: string])[] = [
  ["no HTTP", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"],
  ["HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
  ["unknown method", `FROB /v1/completions HTTP/1.1\r\nhost: a\r\n\r\n`],
  ["no version", "GET /\r\n\r\n"],
  ["odd version", "GET / HTTP/9.9\r\nhost: 127.0.0.1\r\n\r\n"],
  ["old version", `POST /v1/completions HTTP/1.0\r\ncontent-length: ${body.length}\r\n\r\n${body}`],
  ["no host", `POST /v1/completions HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}`],
  ["two hosts", `${line}host: b\r\ncontent-length: 2\r\n\r\n{}`],
  ["foreign host", "GET /v1/models HTTP/1.1\r\nhost: evil.example\r\n\r\n"],
  ["two lengths", `${line}content-length: 2\r\ncontent-length: 3\r\n\r\n{}`],
  ["negative length", `${line}content-length: -1\r\n\r\n`],
  ["length and chunks", `${line}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
  ["unknown coding", `${line}transfer-encoding: gzip\r\n\r\n`],
  ["bad chunk", `${line}transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`],
  ["huge length", `${line}content-length: 99999999999999\r\n\r\n{}`],
  ["bad header", `${line}a b: c\r\n\r\n`],
  ["header without colon", `${line}nothing\r\n\r\n`],
  ["null in header", `${line}x: a\0b\r\n\r\n`],
  ["folded header", `${line}x: a\r\n b\r\ncontent-length: 2\r\n\r\n{}`],
  ["large header", `${line}x: ${"h".repeat(40_000)}\r\n\r\n`],
  ["many headers", `${line}${"x: 1\r\n".repeat(3000)}content-length: 2\r\n\r\n{}`],
  ["long URL", `GET /${"u".repeat(30_000)} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`],
  ["bare line feeds", `POST /v1/completions HTTP/1.1\nhost: 127.0.0.1\ncontent-length: 2\n\n{}`],
  ["body too short", `${line}content-length: 900\r\n\r\n${body}`],
  ["body too long", `${line}content-length: 5\r\n\r\n${body}`],
];

/** Of these the server expects more: the end of the connection tells it that there is none. */
const incomplete: ReadonlySet<string> = new Set(["body too short", "huge length"]);

/** These may be answered by closing the connection: there is nothing to answer to. */
const silent: readonly (readonly [name: string, text: string])[] = [
  ["connect", "CONNECT 127.0.0.1:1 HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"],
  ["nothing", ""],
  ["line ends", "\r\n\r\n\r\n"],
];

export function garbage(random: Random): Delivery {
  if (random.chance(0.1)) {
    const [name, text] = random.pick(silent);
    return { name, steps: [send(text), { kind: "finish" }], answersMin: 0, answersMax: 1 };
  }
  if (random.chance(0.15)) {
    const bytes = Buffer.from(random.list(random.between(1, 300), () => random.integer(256)));
    const steps: Step[] = [{ kind: "send", bytes }, { kind: "finish" }];
    return { name: "random bytes", steps, answersMin: 0, answersMax: 1 };
  }
  const [name, text] = random.pick(malformed);
  const steps: Step[] = [send(text)];
  if (incomplete.has(name)) steps.push({ kind: "finish" });
  return { name, steps, answersMin: 1, answersMax: 1 };
}
