/** Reads the protobuf of OTLP traces, as far as tests look at it. Field numbers are the format's. */

type Field = { readonly number: number; readonly value: bigint | Uint8Array };

export type AttributeValue = string | boolean | number | readonly AttributeValue[];

export interface ReadSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** "" for a root. */
  readonly parentSpanId: string;
  readonly traceState: string;
  readonly name: string;
  /** 1 internal, 2 server. */
  readonly kind: number;
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly attributes: Readonly<Record<string, AttributeValue>>;
  readonly events: readonly { readonly name: string; readonly timeNs: bigint }[];
  /** 0 unset, 1 ok, 2 error. */
  readonly status: number;
  readonly resource: Readonly<Record<string, AttributeValue>>;
}

/** All spans of one ExportTraceServiceRequest. */
export function readSpans(bytes: Uint8Array): ReadSpan[] {
  return messages(bytes, 1).flatMap((resourceSpans) => {
    const [resourceBytes = new Uint8Array()] = messages(resourceSpans, 1);
    const resource = attributesOf(resourceBytes, 1);
    const scopes = messages(resourceSpans, 2);
    return scopes.flatMap((scope) => messages(scope, 2).map((span) => readSpan(span, resource)));
  });
}

function readSpan(span: Uint8Array, resource: ReadSpan["resource"]): ReadSpan {
  const [status = new Uint8Array()] = messages(span, 15);
  return {
    traceId: hex(messages(span, 1)[0]),
    spanId: hex(messages(span, 2)[0]),
    traceState: text(messages(span, 3)[0]),
    parentSpanId: hex(messages(span, 4)[0]),
    name: text(messages(span, 5)[0]),
    kind: Number(number(span, 6)),
    startNs: number(span, 7),
    endNs: number(span, 8),
    attributes: attributesOf(span, 9),
    events: messages(span, 11).map((event) => ({
      timeNs: number(event, 1),
      name: text(messages(event, 2)[0]),
    })),
    status: Number(number(status, 3)),
    resource,
  };
}

function attributesOf(message: Uint8Array, field: number): Record<string, AttributeValue> {
  return Object.fromEntries(
    messages(message, field).map((pair) => [
      text(messages(pair, 1)[0]),
      attributeOf(messages(pair, 2)[0] ?? new Uint8Array()),
    ]),
  );
}

function attributeOf(bytes: Uint8Array): AttributeValue {
  for (const { number: kind, value } of fieldsOf(bytes)) {
    if (value instanceof Uint8Array) {
      if (kind === 1) return text(value);
      if (kind === 5) return messages(value, 1).map(attributeOf);
    } else {
      if (kind === 2) return value !== 0n;
      if (kind === 3) return Number(BigInt.asIntN(64, value));
      if (kind === 4) return new Float64Array(BigUint64Array.of(value).buffer)[0] ?? Number.NaN;
    }
  }
  return "";
}

const messages = (bytes: Uint8Array, wanted: number): Uint8Array[] =>
  fieldsOf(bytes).flatMap(({ number: kind, value }) =>
    kind === wanted && value instanceof Uint8Array ? [value] : [],
  );

function number(bytes: Uint8Array, wanted: number): bigint {
  const found = fieldsOf(bytes).find(({ number: kind }) => kind === wanted)?.value;
  return typeof found === "bigint" ? found : 0n;
}

/** Wire types: 0 varint, 1 eight bytes, 2 length and bytes, 5 four bytes. */
function fieldsOf(bytes: Uint8Array): Field[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const fields: Field[] = [];
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = view.getUint8(at);
      at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const key = Number(varint());
    const [field, wire] = [key >>> 3, key & 7];
    if (wire === 0) fields.push({ number: field, value: varint() });
    else if (wire === 1) {
      fields.push({ number: field, value: view.getBigUint64(at, true) });
      at += 8;
    } else if (wire === 5) {
      fields.push({ number: field, value: BigInt(view.getUint32(at, true)) });
      at += 4;
    } else if (wire === 2) {
      const length = Number(varint());
      fields.push({ number: field, value: bytes.subarray(at, at + length) });
      at += length;
    } else throw new Error(`wire type ${wire} at ${at}`);
  }
  return fields;
}

const text = (bytes: Uint8Array | undefined): string => new TextDecoder().decode(bytes);
const hex = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString("hex");
