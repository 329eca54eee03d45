/** The headers by which a caller hands on its trace (W3C Trace Context). */

export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly flags: number;
}

const traceParentCharactersMax = 512;

/** Undefined for a header that is missing, malformed, or of the forbidden version ff. */
export function parseTraceParent(header: unknown): TraceParent | undefined {
  if (typeof header !== "string" || header.length > traceParentCharactersMax) return undefined;
  const fields = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/.exec(header);
  const [, version, traceId = "", spanId = "", flags = "", rest] = fields ?? [];
  if (version === undefined || version === "ff") return undefined;
  // Later versions may carry more fields; the first may not.
  if (version === "00" && rest !== undefined) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, flags: Number.parseInt(flags, 16) & 1 };
}
