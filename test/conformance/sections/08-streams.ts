/** Section 8: chunks of a stream. */
import { expect } from "vitest";
import { RawClient } from "../../../src/http/testing/raw-client.ts";
import type { StreamReply } from "../support/api.ts";
import { rulesOf } from "../support/rule.ts";
import { samples } from "../support/samples.ts";
import { server } from "../support/servers.ts";
import { type Choice, foldChunks } from "../support/wire.ts";

const rule = rulesOf(import.meta.url);
const prompt = "The river was";
const request = { prompt, max_tokens: 12, seed: 3 };

const choicesIn = ({ chunks }: StreamReply, index = 0): Choice[] =>
  chunks.flatMap(({ choices }) => choices).filter((choice) => choice.index === index);

rule(
  "8.1",
  "A chunk has `id`, `object`, `created`, `choices`, `model` and `system_fingerprint`, and no `usage` unless it was asked for.",
  (prove) => {
    prove("the keys of every chunk", async () => {
      const { chunks, frames } = await (await server("plain")).stream(request);
      const keys = ["id", "object", "created", "choices", "model", "system_fingerprint"];
      for (const chunk of chunks) expect(Object.keys(chunk)).toEqual(keys);
      for (const frame of frames)
        expect(frame).toMatch(
          /^\{"id":"cmpl-.*"object":"text_completion","created":\d+,"choices":\[/,
        );
    });
  },
);

rule(
  "8.2",
  "With `include_usage` every chunk has `usage: null`, and one more chunk after all others has no choices and the usage.",
  (prove) => {
    prove("null, null, ..., then the usage of the whole answer", async () => {
      const api = await server("plain");
      const { usage } = await api.complete({ ...request, n: 2 });
      const streamed = { ...request, n: 2, stream_options: { include_usage: true } };
      const { chunks } = await api.stream(streamed);
      const last = chunks.at(-1);
      expect(last?.choices).toEqual([]);
      expect({ ...last?.usage, prompt_tokens_details: {} }).toEqual({
        ...usage,
        prompt_tokens_details: {},
      });
      for (const chunk of chunks.slice(0, -1)) {
        expect(chunk.usage).toBeNull();
        expect(chunk.choices.length).toBe(1);
      }
    });
  },
);

rule(
  "8.9",
  "`best_of` up to `n` can be streamed; more candidates than choices are refused.",
  (prove) => {
    prove("best_of equal to n streams, above it is a 400", async () => {
      const api = await server("plain");
      const streamed = await api.stream({ ...request, n: 2, best_of: 2 });
      expect(foldChunks(streamed.chunks)).toEqual(
        (await api.complete({ ...request, n: 2 })).choices,
      );
      const error = await api.refuse({ ...request, n: 2, best_of: 3, stream: true });
      expect(error).toMatchObject({ status: 400, type: "invalid_request_error", param: "best_of" });
    });
  },
);

rule(
  "8.10",
  "With echo the first chunk of each choice is the whole prompt with its logprobs; when nothing is generated, it carries `length`.",
  (prove) => {
    prove("prompt first, then tokens", async () => {
      const api = await server("plain");
      const streamed = await api.stream({ ...request, n: 2, echo: true, logprobs: 1 });
      const count = (await api.tokenize(prompt)).length;
      for (const index of [0, 1]) {
        const [first, ...rest] = choicesIn(streamed, index);
        expect(first).toMatchObject({ text: prompt, finish_reason: null });
        expect(first?.logprobs?.tokens.length).toBe(count);
        expect(rest.length).toBeGreaterThan(0);
      }
      const scored = choicesIn(
        await api.stream({ ...request, echo: true, max_tokens: 0, logprobs: 1 }),
      );
      expect(scored.length).toBe(1);
      expect(scored[0]).toMatchObject({ text: prompt, finish_reason: "length" });
    });
  },
);

rule(
  "8.11",
  "`include_obfuscation` adds a random text to every chunk that evens out their sizes; without it there is none.",
  (prove) => {
    prove("sizes of chunks no longer tell the sizes of tokens", async () => {
      const api = await server("plain");
      const padded = await api.stream({
        ...request,
        stream_options: { include_obfuscation: true },
      });
      const sizes = padded.frames.map((frame) => Buffer.byteLength(frame));
      expect(new Set(sizes.map((size) => size % 128)).size).toBe(1);
      const paddings = padded.chunks.map((chunk) => chunk.obfuscation);
      for (const padding of paddings) expect(padding).toMatch(/^[0-9A-Za-z]+$/);
      expect(new Set(paddings).size).toBe(paddings.length);
      const plain = await api.stream({
        ...request,
        stream_options: { include_obfuscation: false },
      });
      for (const chunk of plain.chunks) expect(chunk).not.toHaveProperty("obfuscation");
      expect(foldChunks(padded.chunks)).toEqual(foldChunks(plain.chunks));
    });
  },
);

rule(
  "8.12",
  "Whatever can be refused is refused before the stream begins, as an HTTP error.",
  (prove) => {
    prove("fields, models, tokens, context and insertion of a streamed request", async () => {
      const api = await server("plain");
      const bad = [
        { top_p: 2 },
        { model: "no-such" },
        { prompt: [99999] },
        { max_tokens: 9999 },
        { logit_bias: { 9999: 1 } },
      ];
      for (const more of bad) {
        const reply = await api.send("/v1/completions", {
          body: { ...request, stream: true, ...more },
        });
        expect(reply.status).toBeGreaterThanOrEqual(400);
        expect(reply.headers.get("content-type")).toBe("application/json");
      }
    });
  },
);

rule("8.13", "A stream says what the whole answer to the same request says.", (prove) => {
  prove("texts, logprobs, reasons and usage of every shape of request", async () => {
    for (const { name, whole, streamed } of await samples()) {
      if (streamed === undefined) continue;
      expect(foldChunks(streamed.chunks), name).toEqual(whole.choices);
    }
  });
});

rule(
  "8.14",
  "The headers of a stream are sent when the request leaves the queue, before its prompt has been read.",
  (prove) => {
    prove("headers and no frame yet while thousands of prompt tokens are read", async () => {
      const client = await RawClient.open((await server("standard")).port);
      const numbers = Array.from({ length: 1200 }, (_, place) => place * 7919).join(" ");
      client.post({ prompt: numbers.slice(0, 3500), max_tokens: 1, stream: true });
      const received = await client.until("\r\n\r\n");
      client.close();
      expect(received).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
      expect(received).not.toContain("data: ");
    });
  },
);
