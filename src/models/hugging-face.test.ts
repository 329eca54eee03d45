import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { writeSplitGguf } from "../llama/testing/split-gguf.ts";
import { tinyGguf, tinyGgufContent } from "../llama/testing/tiny-gguf.ts";
import { parseHubFile, pullFromHuggingFace } from "./hugging-face.ts";
import { silentReport } from "./progress.ts";
import { sendFile } from "./testing/file-server.ts";
import { temporaryFolder } from "./testing/temporary-folder.ts";

const content = Buffer.from(tinyGguf());
const sha256Of = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

interface Seen {
  readonly line: string;
  readonly authorization: string | undefined;
  readonly range: string | undefined;
}

interface Hub {
  readonly url: string;
  readonly seen: readonly Seen[];
}

interface HubOptions {
  /** By path in the repository; undefined: the server says nothing of content. */
  readonly files: ReadonlyMap<string, Buffer>;
  readonly sha256?: (content: Buffer) => string | undefined;
  readonly token?: string;
}

async function listen(answer: Parameters<typeof createServer>[1]): Promise<string> {
  const server = createServer(answer as never);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The hub tells hash and size in a redirect to a store on another origin. */
async function startHub({ files, sha256 = sha256Of, token }: HubOptions): Promise<Hub> {
  const seen: Seen[] = [];
  const note = (request: IncomingMessage) => {
    const { authorization, range } = request.headers;
    seen.push({ line: `${request.method} ${request.url}`, authorization, range });
  };
  const store = await listen((request, response) => {
    note(request);
    sendFile(files.get((request.url ?? "").slice(1)) ?? Buffer.alloc(0), request, response);
  });
  const url = await listen((request, response) => {
    note(request);
    if (token !== undefined && request.headers.authorization !== `Bearer ${token}`) {
      response.writeHead(401).end();
      return;
    }
    const path = /^\/owner\/repo\/resolve\/[^/]+\/(.+)$/.exec(request.url ?? "")?.[1] ?? "";
    const file = files.get(path);
    if (file === undefined) {
      response.writeHead(404).end();
      return;
    }
    const hash = sha256(file);
    response.writeHead(302, {
      location: `${store}/${path}`,
      "x-linked-size": file.length,
      ...(hash === undefined ? {} : { "x-linked-etag": `"${hash}"` }),
    });
    response.end();
  });
  return { url, seen };
}

const hubOf = (name: string, options: Omit<HubOptions, "files"> = {}): Promise<Hub> =>
  startHub({ files: new Map([[name, content]]), ...options });

function puller(hub: Hub, token?: string) {
  const cache = temporaryFolder();
  const environment = { HF_ENDPOINT: `${hub.url}/`, ...(token ? { HF_TOKEN: token } : {}) };
  const signal = new AbortController().signal;
  const options = { cache, signal, report: silentReport, environment };
  return {
    folder: join(cache, "models"),
    pull: (name: string) => pullFromHuggingFace(name, options),
  };
}

describe("a file is fetched", () => {
  test("into the model folder, checked by the hash that the hub tells", async () => {
    const hub = await hubOf("sub/m.gguf");
    const { folder, pull } = puller(hub);
    expect(await pull("owner/repo/sub/m.gguf")).toBe(join(folder, "m.gguf"));
    expect(readFileSync(join(folder, "m.gguf")).equals(content)).toBe(true);
    expect(readdirSync(folder)).toEqual(["m.gguf"]);
    expect(hub.seen.map(({ line }) => line)).toEqual([
      "HEAD /owner/repo/resolve/main/sub/m.gguf",
      "GET /owner/repo/resolve/main/sub/m.gguf",
      "GET /sub/m.gguf",
    ]);
  });

  test("once: it is known again by its hash", async () => {
    const hub = await hubOf("m.gguf");
    const { pull } = puller(hub);
    await pull("owner/repo/m.gguf");
    await pull("owner/repo:m.gguf");
    expect(hub.seen.filter(({ line }) => line.startsWith("GET /owner"))).toHaveLength(1);
  });

  test("of a revision, with a token that the store does not see", async () => {
    const hub = await hubOf("m.gguf", { token: "secret" });
    const { pull } = puller(hub, "secret");
    await pull("owner/repo/m.gguf@refs/pr/7");
    expect(hub.seen.map(({ line, authorization }) => [line, authorization])).toEqual([
      ["HEAD /owner/repo/resolve/refs%2Fpr%2F7/m.gguf", "Bearer secret"],
      ["GET /owner/repo/resolve/refs%2Fpr%2F7/m.gguf", "Bearer secret"],
      ["GET /m.gguf", undefined],
    ]);
  });

  test("going on where an earlier try stopped", async () => {
    const hub = await hubOf("m.gguf");
    const { folder, pull } = puller(hub);
    mkdirSync(folder, { recursive: true });
    const part = join(folder, `m.gguf.hub-${sha256Of(content).slice(0, 12)}.part`);
    writeFileSync(part, content.subarray(0, 1_000));
    await pull("owner/repo/m.gguf");
    expect(hub.seen.at(-1)?.range).toBe("bytes=1000-");
    expect(existsSync(part)).toBe(false);
  });

  test("from the beginning when what is there is of another file", async () => {
    const hub = await hubOf("m.gguf");
    const { folder, pull } = puller(hub);
    mkdirSync(folder, { recursive: true });
    const part = join(folder, `m.gguf.hub-${sha256Of(content).slice(0, 12)}.part`);
    writeFileSync(part, Buffer.alloc(1_000, 1));
    await pull("owner/repo/m.gguf");
    expect(readFileSync(join(folder, "m.gguf")).equals(content)).toBe(true);
  });

  test("with all its parts when it is split", async () => {
    const parts = writeSplitGguf(tinyGgufContent(), {
      folder: temporaryFolder(),
      name: "big",
      count: 3,
    });
    const files = new Map(parts.map((path) => [path.split("/").at(-1) ?? "", readFileSync(path)]));
    const { folder, pull } = puller(await startHub({ files }));
    const path = await pull("owner/repo/big-00002-of-00003.gguf");
    expect(path).toBe(join(folder, "big-00001-of-00003.gguf"));
    expect(readdirSync(folder)).toHaveLength(3);
  });
});

describe("what cannot be fetched is told in one line", () => {
  test("no such file, a token that is needed, one that gives no access", async () => {
    const hub = await hubOf("m.gguf", { token: "secret" });
    const where = "m.gguf of owner/repo at main could not be fetched from";
    await expect(puller(hub).pull("owner/repo/m.gguf")).rejects.toThrow(
      `${where} ${hub.url}: the server answered 401; it may need a token in HF_TOKEN`,
    );
    await expect(puller(hub, "other").pull("owner/repo/m.gguf")).rejects.toThrow(
      `${where} ${hub.url}: the server answered 401; HF_TOKEN gives no access to it`,
    );
    await expect(puller(hub, "secret").pull("owner/repo/n.gguf")).rejects.toThrow(
      "there is no such file",
    );
  });

  test("a file with other bytes than its hash says", async () => {
    const hub = await hubOf("m.gguf", { sha256: () => "0".repeat(64) });
    const { folder, pull } = puller(hub);
    await expect(pull("owner/repo/m.gguf")).rejects.toThrow(/its SHA-256 is not 000000000000/);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("another file of that name in the folder, which stays", async () => {
    const hub = await hubOf("m.gguf");
    const { folder, pull } = puller(hub);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "m.gguf"), "precious");
    await expect(pull("owner/repo/m.gguf")).rejects.toThrow(/is there already .* remove it first/);
    expect(readFileSync(join(folder, "m.gguf"), "utf8")).toBe("precious");
  });

  test.each([
    "m.gguf",
    "owner/repo",
    "owner/repo/m.bin",
    "../a/m.gguf",
    "o/r/../m.gguf",
    "o/r/m.gguf@../x",
  ])("the name %s", (name) => {
    expect(() => parseHubFile(name)).toThrow(/names no model file/);
  });
});
