/** The bytes of a request's body as JSON: media type, encoding, depth, syntax. */
import type { FastifyRequest } from "fastify";
import { ApiError } from "../contract/errors.ts";
import { shorten } from "../contract/shorten.ts";

/** No field of the contract nests deeper than three levels. */
const nestingDepthMax = 64;

const formTypes = new Set(["application/x-www-form-urlencoded", "multipart/form-data"]);

type MediaKind = "json" | "absent" | "form" | "other";

/**
 * The parsed body. `application/json` (and `+json` types) must be JSON. An absent type, text and
 * form types (what `curl -d` sends) pass when the body is a JSON object and no page of the web sent
 * it: with an Origin header they would let any page call this server without a preflight.
 */
export function readJsonBody(request: FastifyRequest): unknown {
  const type = request.headers["content-type"];
  const kind = mediaKind(type);
  const refused = () => new ApiError("unsupportedMediaType", { contentType: shorten(type ?? "") });
  const encoding = request.headers["content-encoding"] ?? "identity";
  if (encoding.toLowerCase() !== "identity") {
    throw new ApiError("unsupportedMediaType", {
      contentType: shorten(`${type ?? ""}, content-encoding: ${encoding}`),
    });
  }
  if (kind === "other") throw refused();
  if (kind !== "json" && request.headers.origin !== undefined) throw refused();
  const bytes = request.body instanceof Uint8Array ? request.body : new Uint8Array();
  try {
    const value = parseJson(bytes);
    if (kind !== "form" || isObject(value)) return value;
  } catch (error) {
    if (kind !== "form") throw error;
  }
  throw refused();
}

function mediaKind(type: string | undefined): MediaKind {
  const name = type?.split(";")[0]?.trim().toLowerCase() ?? "";
  if (name === "") return "absent";
  if (/^application\/([\w.-]+\+)?json$/.test(name)) return "json";
  return name.startsWith("text/") || formTypes.has(name) ? "form" : "other";
}

const isObject = (value: unknown): boolean =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Throws `badJson` for invalid UTF-8 and invalid JSON, `badRequest` for too deep a nesting. */
export function parseJson(bytes: Uint8Array): unknown {
  if (nestsDeeperThan(nestingDepthMax, bytes)) {
    const reason = `the JSON body is nested deeper than ${nestingDepthMax} levels`;
    throw new ApiError("badRequest", { reason });
  }
  try {
    // A byte order mark in front is dropped.
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) as unknown;
  } catch (cause) {
    throw new ApiError("badJson", {}, { cause });
  }
}

const [quote, backslash] = [0x22, 0x5c];
const [openArray, closeArray, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Counts brackets outside strings. Done on bytes, before anything is built from them. */
function nestsDeeperThan(depthMax: number, bytes: Uint8Array): boolean {
  let depth = 0;
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index];
    if (byte === quote) {
      index = endOfString(bytes, index);
    } else if (byte === openArray || byte === openObject) {
      depth += 1;
      if (depth > depthMax) return true;
    } else if (byte === closeArray || byte === closeObject) {
      depth -= 1;
    }
  }
  return false;
}

/** Index of the quote that closes the string opened at `start`, or the length of the bytes. */
function endOfString(bytes: Uint8Array, start: number): number {
  let index = start + 1;
  while (index < bytes.length && bytes[index] !== quote)
    index += bytes[index] === backslash ? 2 : 1;
  return index;
}
