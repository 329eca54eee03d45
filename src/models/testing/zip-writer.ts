/** Writes small zip archives, 64-bit sizes and damage included. */
import { crc32, deflateRawSync } from "node:zlib";

export interface ZipEntry {
  readonly name: string;
  readonly content: Buffer;
  readonly deflated?: boolean;
  /** Writes sizes and offset into the 64-bit field. */
  readonly large?: boolean;
  /** Says another size than the content has. */
  readonly statedBytes?: number;
  readonly flags?: number;
  readonly method?: number;
}

export function writeZip(entries: readonly ZipEntry[], comment = ""): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const entry of entries) {
    const packed = entry.deflated === true ? deflateRawSync(entry.content) : entry.content;
    const local = Buffer.concat([localHeader(entry), Buffer.from(entry.name), packed]);
    directory.push(directoryEntry(entry, packed.length, offset));
    parts.push(local);
    offset += local.length;
  }
  const listing = Buffer.concat(directory);
  const large = entries.some((entry) => entry.large);
  return Buffer.concat([
    ...parts,
    listing,
    ...(large ? end64(entries.length, listing.length, offset) : []),
    end(entries.length, listing.length, offset, large, comment),
  ]);
}

function localHeader(entry: ZipEntry): Buffer {
  const header = Buffer.alloc(30);
  header.writeUInt32LE(0x04034b50, 0);
  header.writeUInt16LE(20, 4);
  header.writeUInt16LE(entry.method ?? (entry.deflated === true ? 8 : 0), 8);
  header.writeUInt32LE(crc32(entry.content), 14);
  header.writeUInt16LE(Buffer.byteLength(entry.name), 26);
  return header;
}

function directoryEntry(entry: ZipEntry, packedBytes: number, offset: number): Buffer {
  const bytes = entry.statedBytes ?? entry.content.length;
  const name = Buffer.from(entry.name);
  const header = Buffer.alloc(46);
  header.writeUInt32LE(0x02014b50, 0);
  header.writeUInt16LE(entry.flags ?? 0, 8);
  header.writeUInt16LE(entry.method ?? (entry.deflated === true ? 8 : 0), 10);
  header.writeUInt32LE(crc32(entry.content), 16);
  header.writeUInt16LE(name.length, 28);
  let extra: Buffer = Buffer.alloc(0);
  if (entry.large === true) {
    // A field of another kind in front, as some writers have it.
    extra = Buffer.alloc(6 + 28);
    extra.writeUInt16LE(0x5455, 0);
    extra.writeUInt16LE(2, 2);
    extra.writeUInt16LE(0x0001, 6);
    extra.writeUInt16LE(24, 8);
    [bytes, packedBytes, offset].forEach((value, index) => {
      extra.writeBigUInt64LE(BigInt(value), 10 + 8 * index);
    });
    for (const at of [20, 24, 42]) header.writeUInt32LE(0xffffffff, at);
  } else {
    header.writeUInt32LE(packedBytes, 20);
    header.writeUInt32LE(bytes, 24);
    header.writeUInt32LE(offset, 42);
  }
  header.writeUInt16LE(extra.length, 30);
  return Buffer.concat([header, name, extra]);
}

function end64(count: number, bytes: number, offset: number): readonly Buffer[] {
  const record = Buffer.alloc(56);
  record.writeUInt32LE(0x06064b50, 0);
  record.writeBigUInt64LE(44n, 4);
  record.writeBigUInt64LE(BigInt(count), 24);
  record.writeBigUInt64LE(BigInt(count), 32);
  record.writeBigUInt64LE(BigInt(bytes), 40);
  record.writeBigUInt64LE(BigInt(offset), 48);
  const locator = Buffer.alloc(20);
  locator.writeUInt32LE(0x07064b50, 0);
  locator.writeBigUInt64LE(BigInt(offset + bytes), 8);
  locator.writeUInt32LE(1, 16);
  return [record, locator];
}

function end(
  count: number,
  bytes: number,
  offset: number,
  large: boolean,
  comment: string,
): Buffer {
  const record = Buffer.alloc(22);
  record.writeUInt32LE(0x06054b50, 0);
  record.writeUInt16LE(count, 8);
  record.writeUInt16LE(count, 10);
  record.writeUInt32LE(large ? 0xffffffff : bytes, 12);
  record.writeUInt32LE(large ? 0xffffffff : offset, 16);
  record.writeUInt16LE(Buffer.byteLength(comment), 20);
  return Buffer.concat([record, Buffer.from(comment)]);
}
