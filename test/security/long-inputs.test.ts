/** Long hostile inputs cost time in proportion to their length: no pattern goes back and forth. */
import { expect, test } from "vitest";
import { bearerKey } from "../../src/access/bearer-key.ts";
import { limitsProfiles } from "../../src/contract/limits.ts";
import { parseCompletionRequest, readModelName } from "../../src/contract/parse-request.ts";
import { server } from "../../src/http/testing/injected-server.ts";
import { parseTraceParent } from "../../src/observe/trace-parent.ts";

const smallLength = 64 * 1024;
const times = 16;
/** Work that grows with the square of the length would take 256 times as long. */
const growthMax = 80;
/** Below this the measure is noise. */
const leastMs = 4;

/** Processor time. */
async function costMs(work: () => unknown): Promise<number> {
  const start = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

async function expectLinear(work: (length: number) => unknown): Promise<void> {
  // The first run compiles.
  await work(smallLength);
  const small = await costMs(() => work(smallLength));
  const large = await costMs(() => work(smallLength * times));
  expect(large / Math.max(small, leastMs)).toBeLessThan(growthMax);
}

/** What makes patterns with repetitions inside of repetitions try every way. */
const hostile: readonly [string, (length: number) => string][] = [
  ["spaces before an end that is missing", (length) => `${" ".repeat(length)}x`],
  ["slashes", (length) => "/".repeat(length)],
  ["dots and quotes", (length) => `${'."'.repeat(length / 2)}x`],
  ["a dot, quotes and spaces", (length) => `.${'"'.repeat(length / 2)}${" ".repeat(length / 2)}x`],
  ["digits", (length) => "1".repeat(length)],
  ["colons and digits", (length) => ":1".repeat(length / 2)],
  ["brackets", (length) => "]".repeat(length)],
  ["braces", (length) => "{prefix}".repeat(length / 8)],
  ["percent signs", (length) => "%".repeat(length)],
  ["line ends", (length) => "\r\n".repeat(length / 2)],
  ["lone surrogates", (length) => "\ud800".repeat(length)],
];

const parse = (body: unknown) => {
  try {
    readModelName(body);
    parseCompletionRequest(body, { limits: limitsProfiles.extended, strict: false });
  } catch {
    // Refused is fine; how long that takes is the question.
  }
};

test.each(hostile)("%s in fields and in their names", async (_, make) => {
  await expectLinear((length) => {
    const text = make(length);
    for (const field of ["prompt", "model", "suffix", "user", "stop", "n", "temperature"]) {
      parse({ prompt: "a", [field]: text });
    }
    parse({ prompt: "a", [text]: 1, logit_bias: { [text]: 1 } });
  });
});

test.each(hostile)("%s in a whole request", async (_, make) => {
  const { post } = server();
  await expectLinear((length) => post({ prompt: make(length), model: make(length) }));
});

test.each(hostile)("%s in headers and paths, longer than Node lets them in", async (_, make) => {
  const { app } = server();
  await expectLinear(async (length) => {
    const text = make(length).replaceAll(/[\r\n\ud800]/g, "a");
    bearerKey(`bearer ${text}`);
    parseTraceParent(text);
    for (const name of ["host", "origin", "content-type", "x-request-id", "accept-encoding"]) {
      const headers = { host: "localhost", "content-type": "application/json", [name]: text };
      await app.inject({ method: "POST", url: "/v1/completions", headers, payload: "{}" });
    }
    const path = text.replaceAll(/[^/\w.:]/g, "a");
    await app.inject({ url: `/v1/models/${path}`, headers: { host: "localhost" } });
    await app.inject({ url: `/v1/engines/${path}/completions`, headers: { host: "localhost" } });
    await app.inject({ url: `/v1/x?${path}`, headers: { host: "localhost" } });
  });
});
