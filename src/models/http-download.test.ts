import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { SourceError } from "./fetch-error.ts";
import { type DownloadLimits, download } from "./http-download.ts";
import { type Answer, sendCut, sendFile, serveFile } from "./testing/file-server.ts";
import { temporaryFolder } from "./testing/temporary-folder.ts";

/** Much longer than what streams and sockets buffer: of that a cut connection may lose all. */
const content = randomBytes(6_000_000);

interface Try {
  readonly partFile: string;
  readonly progress: { bytes: number; total: number | undefined }[];
  run(limits?: Partial<DownloadLimits>, signal?: AbortSignal): Promise<void>;
}

function prepare(url: string, present?: Buffer): Try {
  const partFile = join(temporaryFolder(), "model.part");
  if (present !== undefined) writeFileSync(partFile, present);
  const progress: { bytes: number; total: number | undefined }[] = [];
  return {
    partFile,
    progress,
    run: (limits = {}, signal = new AbortController().signal) =>
      download({
        url,
        partFile,
        signal,
        onProgress: (bytes, total) => progress.push({ bytes, total }),
        environment: {},
        limits,
      }),
  };
}

async function tryWith(answer: Answer, present?: Buffer) {
  const server = await serveFile(answer);
  return { server, attempt: prepare(`${server.url}/file`, present) };
}

const good: Answer = (request, response) => sendFile(content, request, response);

describe("a good server", () => {
  test("gives the whole file, with progress up to its size", async () => {
    const { attempt, server } = await tryWith(good);
    await attempt.run();
    expect(readFileSync(attempt.partFile).equals(content)).toBe(true);
    expect(attempt.progress.at(-1)).toEqual({ bytes: content.length, total: content.length });
    expect(server.requests).toEqual([{ path: "/file", range: undefined }]);
  });

  test("continues what is there", async () => {
    const { attempt, server } = await tryWith(good, content.subarray(0, 100_000));
    await attempt.run();
    expect(readFileSync(attempt.partFile).equals(content)).toBe(true);
    expect(server.requests).toEqual([{ path: "/file", range: "bytes=100000-" }]);
    expect(attempt.progress[0]).toEqual({ bytes: 100_000, total: content.length });
  });

  test("has nothing to add to a complete file", async () => {
    const { attempt, server } = await tryWith(good, content);
    await attempt.run();
    expect(readFileSync(attempt.partFile).equals(content)).toBe(true);
    expect(server.requests).toHaveLength(1);
  });

  test("sends all when what is there is longer than the file", async () => {
    const { attempt } = await tryWith(good, Buffer.concat([content, Buffer.alloc(10)]));
    await attempt.run();
    expect(readFileSync(attempt.partFile).equals(content)).toBe(true);
  });

  test("may redirect, and the range goes along", async () => {
    const { attempt, server } = await tryWith(
      (request, response) => {
        if (request.url !== "/file") return sendFile(content, request, response);
        response.writeHead(302, { location: "/elsewhere?a=1" }).end();
      },
      content.subarray(0, 5),
    );
    await attempt.run();
    expect(readFileSync(attempt.partFile).equals(content)).toBe(true);
    expect(server.requests.at(-1)).toEqual({ path: "/elsewhere?a=1", range: "bytes=5-" });
  });
});

test("a server without ranges sends all, which replaces what is there", async () => {
  const { attempt } = await tryWith((_request, response) => {
    response.end(content);
  }, randomBytes(1000));
  await attempt.run();
  expect(readFileSync(attempt.partFile).equals(content)).toBe(true);
});

describe("a cut connection", () => {
  test("is continued where it ended", async () => {
    const { attempt, server } = await tryWith((request, response, index) => {
      if (index < 2) sendCut(content, 2_000_000, request, response);
      else sendFile(content, request, response);
    });
    await attempt.run();
    expect(readFileSync(attempt.partFile).equals(content)).toBe(true);
    expect(server.requests.map(({ range }) => range)).toEqual([
      undefined,
      expect.stringMatching(/^bytes=\d+-$/),
      expect.stringMatching(/^bytes=\d+-$/),
    ]);
  });

  test("that brings nothing new ends the source, what came before is kept", async () => {
    const { attempt, server } = await tryWith((request, response, index) => {
      sendCut(content, index === 0 ? 2_000_000 : 0, request, response);
    });
    await expect(attempt.run()).rejects.toBeInstanceOf(SourceError);
    expect(statSync(attempt.partFile).size).toBeGreaterThan(1_000_000);
    expect(server.requests.length).toBeLessThanOrEqual(4);
  });
});

describe("reasons of a failed source", () => {
  test.each([404, 403, 500, 429])("status %i", async (status) => {
    const { attempt, server } = await tryWith((_request, response) => {
      response.writeHead(status).end("no");
    });
    await expect(attempt.run()).rejects.toThrow(`the server answered ${status}`);
    expect(server.requests).toHaveLength(1);
    expect(existsSync(attempt.partFile)).toBe(false);
  });

  test("endless redirects", async () => {
    const { attempt } = await tryWith((_request, response) => {
      response.writeHead(302, { location: "/file" }).end();
    });
    await expect(attempt.run()).rejects.toThrow("more than 5 redirects");
  });

  test("a refused connection", async () => {
    const attempt = prepare("http://127.0.0.1:1/file");
    await expect(attempt.run()).rejects.toThrow("the connection was refused");
  });

  test("a name that does not exist", async () => {
    const attempt = prepare("http://no-such-host.invalid/file");
    await expect(attempt.run()).rejects.toThrow("its name could not be resolved");
  });

  test("a connection that never stands", async () => {
    // Accepts, and never answers the greeting of TLS.
    const silent = createServer(() => undefined);
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void silent.close());
    const attempt = prepare(`https://127.0.0.1:${(silent.address() as AddressInfo).port}/file`);
    await expect(attempt.run({ connectMs: 50 })).rejects.toThrow("no connection within 0.05 s");
  });

  test("a server that never answers", async () => {
    const { attempt } = await tryWith(() => undefined);
    await expect(attempt.run({ silenceMs: 50 })).rejects.toThrow(
      "the server was silent for 0.05 s",
    );
  });

  test("a server that falls silent in the middle", async () => {
    const { attempt } = await tryWith((_request, response) => {
      response.writeHead(200, { "content-length": content.length });
      response.write(content.subarray(0, 10));
    });
    await expect(attempt.run({ silenceMs: 50 })).rejects.toBeInstanceOf(SourceError);
  });
});

test("an abort ends it", async () => {
  const controller = new AbortController();
  const { attempt } = await tryWith(() => controller.abort());
  await expect(attempt.run({}, controller.signal)).rejects.toThrow(/abort/i);
});

test.runIf(process.platform === "linux")("a full disk is no fault of the source", async () => {
  const { attempt } = await tryWith(good);
  symlinkSync("/dev/full", attempt.partFile);
  await expect(attempt.run()).rejects.toMatchObject({ code: "ENOSPC" });
});
