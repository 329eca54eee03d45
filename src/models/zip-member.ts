/**
 * Takes one file out of a zip archive (a Python wheel is one): finds it in the central directory
 * and unpacks it as a stream. Reads stored and deflated members, with 64-bit sizes.
 */
import { createReadStream, createWriteStream } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createInflateRaw } from "node:zlib";

/** The archive cannot be read, or lacks the member. The message is a reason, no sentence. */
export class ZipError extends Error {
  override readonly name = "ZipError";
}

export interface ZipMember {
  readonly name: string;
  readonly method: "stored" | "deflated";
  readonly packedBytes: number;
  readonly bytes: number;
  /** Where the member's local header begins. */
  readonly headerOffset: number;
}

const endSignature = 0x06054b50;
const endBytes = 22;
const end64LocatorSignature = 0x07064b50;
const end64LocatorBytes = 20;
const end64Signature = 0x06064b50;
const end64Bytes = 56;
const memberSignature = 0x02014b50;
const memberBytes = 46;
const localSignature = 0x04034b50;
const localBytes = 30;
const commentBytesMax = 0xffff;
const extra64Id = 0x0001;
const sizeIn64 = 0xffffffff;
/** A wheel's directory has a few kilobytes; beyond this an archive is not one of ours. */
const directoryBytesMax = 64 * 1024 * 1024;

export interface UnpackOptions {
  readonly archive: string;
  readonly member: string;
  readonly target: string;
  readonly signal?: AbortSignal;
  readonly onProgress?: (bytes: number, total: number) => void;
}

/** Writes a member to the file `target`. Throws a ZipError, or an error of the disk. */
export async function unpackMember(options: UnpackOptions): Promise<void> {
  const file = await open(options.archive, "r");
  let member: ZipMember;
  let start: number;
  try {
    member = await findMember(file, options.member);
    start = await dataOffset(file, member);
  } finally {
    await file.close();
  }
  const source = createReadStream(options.archive, {
    start,
    end: Math.max(start, start + member.packedBytes - 1),
  });
  const counter = new ByteCounter(member.bytes, options.onProgress);
  const target = createWriteStream(options.target);
  const signal = options.signal ?? new AbortController().signal;
  try {
    if (member.method === "stored") await pipeline(source, counter, target, { signal });
    else await pipeline(source, createInflateRaw(), counter, target, { signal });
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "";
    throw code.startsWith("Z_") ? new ZipError(`the archive is damaged (${code})`) : error;
  }
  if (counter.bytes !== member.bytes) throw new ZipError("the archive is damaged (wrong size)");
}

/** Counts, and stops a member that unpacks to more than it says. */
class ByteCounter extends Transform {
  bytes = 0;
  readonly #total: number;
  readonly #onProgress: ((bytes: number, total: number) => void) | undefined;

  constructor(total: number, onProgress: ((bytes: number, total: number) => void) | undefined) {
    super();
    this.#total = total;
    this.#onProgress = onProgress;
  }

  override _transform(
    chunk: Buffer,
    _encoding: BufferEncoding,
    done: (error: Error | null, chunk?: Buffer) => void,
  ): void {
    this.bytes += chunk.length;
    if (this.bytes > this.#total) {
      done(new ZipError("the archive is damaged (a member is larger than it says)"));
      return;
    }
    this.#onProgress?.(this.bytes, this.#total);
    done(null, chunk);
  }
}

/** The member of that exact name. */
export async function findMember(file: FileHandle, name: string): Promise<ZipMember> {
  const directory = await readDirectory(file);
  const wanted = Buffer.from(name, "utf8");
  let offset = 0;
  while (offset + memberBytes <= directory.length) {
    if (directory.readUInt32LE(offset) !== memberSignature) break;
    const nameLength = directory.readUInt16LE(offset + 28);
    const extraLength = directory.readUInt16LE(offset + 30);
    const commentLength = directory.readUInt16LE(offset + 32);
    const nameStart = offset + memberBytes;
    const next = nameStart + nameLength + extraLength + commentLength;
    if (next > directory.length) break;
    if (directory.subarray(nameStart, nameStart + nameLength).equals(wanted)) {
      const extra = directory.subarray(
        nameStart + nameLength,
        nameStart + nameLength + extraLength,
      );
      return readMember(name, directory.subarray(offset, nameStart), extra);
    }
    offset = next;
  }
  throw new ZipError(`the archive has no file ${name}`);
}

function readMember(name: string, fields: Buffer, extra: Buffer): ZipMember {
  const method = fields.readUInt16LE(10);
  if ((fields.readUInt16LE(8) & 1) !== 0) throw new ZipError(`${name} is encrypted`);
  if (method !== 0 && method !== 8) throw new ZipError(`${name} is packed by method ${method}`);
  // The 64-bit field holds, in this order, only those values that are all ones in the entry.
  const long = extra64Values(extra);
  const value = (offset: number): number => {
    const short = fields.readUInt32LE(offset);
    if (short !== sizeIn64) return short;
    const next = long.shift();
    if (next === undefined) throw new ZipError("the archive is damaged (a size is missing)");
    return next;
  };
  const bytes = value(24);
  const packedBytes = value(20);
  return {
    name,
    method: method === 0 ? "stored" : "deflated",
    bytes,
    packedBytes,
    headerOffset: value(42),
  };
}

function extra64Values(extra: Buffer): number[] {
  for (let offset = 0; offset + 4 <= extra.length; ) {
    const length = extra.readUInt16LE(offset + 2);
    if (extra.readUInt16LE(offset) === extra64Id) {
      const end = Math.min(offset + 4 + length, extra.length);
      const values: number[] = [];
      for (let at = offset + 4; at + 8 <= end; at += 8) {
        values.push(Number(extra.readBigUInt64LE(at)));
      }
      return values;
    }
    offset += 4 + length;
  }
  return [];
}

async function readDirectory(file: FileHandle): Promise<Buffer> {
  const { size } = await file.stat();
  const tailBytes = Math.min(size, endBytes + commentBytesMax + end64LocatorBytes);
  const tail = await readAt(file, size - tailBytes, tailBytes);
  let end = tail.length - endBytes;
  while (end >= 0 && tail.readUInt32LE(end) !== endSignature) end -= 1;
  if (end < 0) throw new ZipError("it is no zip archive");
  let bytes = tail.readUInt32LE(end + 12);
  let offset = tail.readUInt32LE(end + 16);
  const locator = end - end64LocatorBytes;
  if (locator >= 0 && tail.readUInt32LE(locator) === end64LocatorSignature) {
    const record = await readAt(file, Number(tail.readBigUInt64LE(locator + 8)), end64Bytes);
    if (record.readUInt32LE(0) !== end64Signature) throw new ZipError("the archive is damaged");
    bytes = Number(record.readBigUInt64LE(40));
    offset = Number(record.readBigUInt64LE(48));
  }
  if (bytes > directoryBytesMax) throw new ZipError("the archive has too many files");
  return readAt(file, offset, bytes);
}

async function dataOffset(file: FileHandle, member: ZipMember): Promise<number> {
  const header = await readAt(file, member.headerOffset, localBytes);
  if (header.readUInt32LE(0) !== localSignature) throw new ZipError("the archive is damaged");
  const start = member.headerOffset + localBytes;
  const data = start + header.readUInt16LE(26) + header.readUInt16LE(28);
  const isSafe = Number.isSafeInteger(data + member.packedBytes);
  if (!isSafe) throw new ZipError("the archive is damaged");
  return data;
}

async function readAt(file: FileHandle, offset: number, bytes: number): Promise<Buffer> {
  // 64-bit fields may claim places that no file has.
  if (!Number.isSafeInteger(offset + bytes)) throw new ZipError("the archive is damaged");
  const buffer = Buffer.alloc(bytes);
  const { bytesRead } = await file.read(buffer, 0, bytes, offset);
  if (bytesRead !== bytes) throw new ZipError("the archive is cut off");
  return buffer;
}
