/** Bytes of a stream, looked at on the socket. */
import { expect } from "vitest";
import { aborted, fakeServer, oneChoice } from "../../../src/http/testing/fake-server.ts";
import { chunksOf, listen, RawClient } from "../../../src/http/testing/raw-client.ts";
import { rulesOf } from "../support/rule.ts";
import { server } from "../support/servers.ts";

const rule = rulesOf(import.meta.url);

rule(
  "0.11",
  "A stream is frames of `data: `, one line of JSON and an empty line, each written in one piece, and ends with `data: [DONE]`.",
  (prove) => {
    prove("every piece on the socket is one whole frame", async () => {
      const api = await server("plain");
      const client = await RawClient.open(api.port);
      client.post(
        {
          prompt: "The river was",
          max_tokens: 20,
          n: 2,
          logprobs: 2,
          ignore_eos: true,
          stream: true,
        },
        ["Connection: close"],
      );
      const answer = await client.end();
      const frames = chunksOf(answer);
      expect(frames.length).toBeGreaterThan(20);
      for (const frame of frames.slice(0, -1)) {
        expect(frame).toMatch(/^data: \{[^\r\n]+\}\n\n$/);
        expect(() => JSON.parse(frame.slice(6))).not.toThrow();
      }
      expect(frames.at(-1)).toBe("data: [DONE]\n\n");
    });
  },
);

rule(
  "0.12",
  "Silence in a stream is broken by a comment line that holds a colon and nothing else.",
  (prove) => {
    prove("the comment is a bare colon", async () => {
      // The one rule whose waiting time no option of the command shortens.
      const app = fakeServer({ options: { keepAliveCommentMs: 5 } }, async function* (_, signal) {
        yield { kind: "admitted" };
        await Promise.race([commented.promise, aborted(signal)]);
        yield* oneChoice("Hi");
      });
      const commented = Promise.withResolvers<void>();
      try {
        const client = await RawClient.open(await listen(app));
        client.post({ prompt: "x", stream: true }, ["Connection: close"]);
        await client.until(":\n\n");
        commented.resolve();
        const frames = chunksOf(await client.end());
        expect(frames[0]).toBe(":\n\n");
        expect(frames.at(-1)).toBe("data: [DONE]\n\n");
      } finally {
        await app.close();
      }
    });
  },
);

rule(
  "0.13",
  "A stream has the type `text/event-stream`, every other answer `application/json`, both without parameters.",
  (prove) => {
    const body = { prompt: "x", max_tokens: 1 };

    prove("whole answer, stream and error", async () => {
      const api = await server("plain");
      const whole = await api.complete(body);
      expect(whole.headers.get("content-type")).toBe("application/json");
      const streamed = await api.stream(body);
      expect(streamed.headers.get("content-type")).toBe("text/event-stream");
      const refused = await api.send("/v1/completions", { body: { ...body, n: 0, stream: true } });
      expect(refused.status).toBe(400);
      expect(refused.headers.get("content-type")).toBe("application/json");
    });
  },
);

rule(
  "0.16",
  "Fields that the server does not know are ignored, as many as clients send.",
  (prove) => {
    prove(
      "a request full of other servers' fields is answered, and the fields are named",
      async () => {
        const api = await server("plain");
        const foreign = {
          n_predict: 5,
          mirostat: 2,
          cache_prompt: true,
          stopping_strings: ["x"],
          parameters: { details: true },
          typical_p: 0.5,
        };
        const answer = await api.complete({ prompt: "x", max_tokens: 1, ...foreign });
        expect(answer.choices.length).toBe(1);
        expect(answer.headers.get("x-ignored-params")).toBe(Object.keys(foreign).join(", "));
      },
    );
  },
);
