/** One case: what is sent over one connection, step by step, and how many answers are due. */
import { type Delivery, deliver, garbage } from "./delivery.ts";
import { authorization } from "./odd-authorization.ts";
import { oddText } from "./odd-values.ts";
import type { Random } from "./random.ts";
import { bodyText } from "./request-bodies.ts";

/** One request as it is meant; how it is sent is the delivery's matter. */
export interface FuzzRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
}

export interface FuzzCase {
  readonly requests: readonly FuzzRequest[];
  readonly delivery: Delivery;
}

/** With `secret`, most requests carry this key and the others something like one. */
export function makeCase(random: Random, secret?: string): FuzzCase {
  if (random.chance(0.03)) return { requests: [], delivery: garbage(random) };
  const count = random.chance(0.05) ? random.between(2, 4) : 1;
  const requests = random.list(count, () => makeRequest(random, secret));
  return { requests, delivery: deliver(requests, random) };
}

function makeRequest(random: Random, secret: string | undefined): FuzzRequest {
  const body = changeBytes(Buffer.from(bodyText(random)), random);
  const method = random.chance(0.04) ? random.pick(methods) : "POST";
  const path = random.chance(0.12) ? random.pick(paths) : "/v1/completions";
  const headers: (readonly [string, string])[] = [];
  const type = random.chance(0.9) ? "application/json" : random.pick(contentTypes);
  if (type !== "") headers.push(["content-type", type]);
  if (random.chance(0.15)) {
    for (let added = random.between(1, 3); added > 0; added -= 1) headers.push(oddHeader(random));
    // Together they ask for another protocol, which is to be ignored.
    if (random.chance(0.1)) headers.push(["connection", "upgrade"], ["upgrade", "h2c"]);
  }
  if (secret !== undefined) headers.push(...authorization(random, secret));
  return { method, path, headers, body };
}

const methods = ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "QUERY", "PROPFIND"];

const paths = [
  "/completions",
  "/v1/completions/",
  "/v1//completions",
  "/v1/completions?x=%",
  "/v1/completions#a",
  "/v1/engines/davinci-002/completions",
  "/v1/engines/a%2Fb/completions",
  "/v1/engines/%ff/completions",
  "/v1/engines//completions",
  "/v1/engines",
  "/v1/engines/x",
  "/v1/chat/completions",
  "/v1/models",
  "/v1/models/davinci-002",
  "/v1/models/__proto__",
  "/v1/models/constructor",
  "/v1/models/%00",
  "/v1/models/%E0%A4%A",
  `/v1/models/${"m".repeat(3000)}`,
  "/tokenize",
  "/v1/tokenize",
  "/v1/detokenize",
  "/tokenizer_info",
  "/tokenizer_info?model=__proto__&model=2",
  "/health",
  "/openapi.json",
  "/",
  "//",
  "/../../etc/hosts",
  "/v1/%2e%2e/completions",
  "*",
  "http://127.0.0.1/v1/completions",
  "/é".normalize("NFD"),
];

const contentTypes = [
  "",
  "text/plain",
  "application/x-www-form-urlencoded",
  "multipart/form-data; boundary=x",
  "application/json; charset=utf-16",
  'application/json; charset="',
  "application/vnd.api+json",
  "application/xml",
  "json",
  "/",
  ";",
  "application/json, text/plain",
  "a".repeat(4000),
];

function oddHeader(random: Random): [string, string] {
  const plain = (text: string) => text.replaceAll(/[^\x20-\x7e\xa0-\xff]/g, "?").slice(0, 2000);
  switch (random.integer(9)) {
    case 0:
      return ["content-encoding", random.pick(["gzip", "identity", "br", "deflate, gzip", "x"])];
    case 1:
      return ["accept-encoding", random.pick(["gzip", "*", "gzip;q=0", "br;q=1, gzip;q=0.1", ";"])];
    case 2:
      return ["origin", random.pick(["http://localhost", "https://a.example", "null", "x", ""])];
    case 3:
      return [
        "authorization",
        random.pick(["Bearer x", "Basic eDp5", "Bearer", "", "Bearer  a b"]),
      ];
    case 4:
      return ["expect", random.pick(["100-continue", "200-ok", ""])];
    case 5:
      return [random.pick(["x-request-id", "x-client-request-id"]), plain(oddText(random))];
    case 6:
      return ["connection", random.pick(["close", "keep-alive", "upgrade", "x-request-id"])];
    case 7:
      return ["upgrade", random.pick(["websocket", "h2c", "x"])];
    default:
      return [`x-${"odd".repeat(random.between(1, 50))}`, plain(oddText(random))];
  }
}

/** Now and then the bytes are no longer what the text was. */
function changeBytes(body: Buffer, random: Random): Buffer {
  if (random.chance(0.85)) return body;
  const at = random.integer(body.length + 1);
  const [head, tail] = [body.subarray(0, at), body.subarray(at)];
  switch (random.integer(9)) {
    case 0:
      return head; // truncated
    case 1:
      return Buffer.concat([head, Buffer.from([random.integer(256)]), tail]);
    case 2:
      return Buffer.concat([head, tail.subarray(random.between(1, 4))]);
    case 3:
      return Buffer.concat([body, head]);
    case 4:
      return Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), body]);
    case 5:
      return Buffer.from(body.toString("utf8"), "utf16le");
    case 6:
      return Buffer.concat([
        head,
        Buffer.from(random.pick([",", "}", '"', "\0", "/*", "\\u"])),
        tail,
      ]);
    case 7:
      return Buffer.from(random.list(random.between(0, 200), () => random.integer(256)));
    default:
      return Buffer.concat([body, Buffer.from(random.pick(["\n", " ", "{}", "\0", "// end"]))]);
  }
}
