/** Section 4: the response object. */
import { expect } from "vitest";
import { rulesOf } from "../support/rule.ts";
import { server } from "../support/servers.ts";

const rule = rulesOf(import.meta.url);
const body = { prompt: "The river was", max_tokens: 3, seed: 1, ignore_eos: true };

rule(
  "4.1",
  "The keys of a response are `id`, `object`, `created`, `model`, `choices`, `usage` and `system_fingerprint`, in this order.",
  (prove) => {
    prove("as written", async () => {
      const { raw } = await (await server("plain")).complete(body);
      expect(raw).toMatch(
        /^\{"id":"cmpl-[0-9A-Za-z]{29}","object":"text_completion","created":\d+,"model":"[^"]+","choices":\[\{"text":".*","index":0,"logprobs":null,"finish_reason":"length"\}\],"usage":\{.*\},"system_fingerprint":"[^"]+"\}$/,
      );
    });
  },
);

rule("4.2", "`created` is the time in whole seconds.", (prove) => {
  prove("between the seconds before and after the request", async () => {
    const api = await server("plain");
    const before = Math.floor(Date.now() / 1000);
    const { created } = await api.complete(body);
    expect(created).toBeGreaterThanOrEqual(before);
    expect(created).toBeLessThanOrEqual(Math.ceil(Date.now() / 1000));
  });
});

rule(
  "4.3",
  "`model` is the name that the request used; the file that answered is named in the `openai-model` header.",
  (prove) => {
    prove("an alias comes back as it was sent, in streams too", async () => {
      const api = await server("standard");
      const request = { ...body, model: "gpt-3.5-turbo-instruct" };
      const { model, headers } = await api.complete(request);
      expect(model).toBe("gpt-3.5-turbo-instruct");
      expect(headers.get("openai-model")).toMatch(/^SmolLM2-135M-Instruct\./);
      const streamed = await api.stream(request);
      expect(new Set(streamed.chunks.map((chunk) => chunk.model))).toEqual(new Set([model]));
      expect(streamed.headers.get("openai-model")).toBe(headers.get("openai-model"));
    });
  },
);

rule(
  "4.4",
  "`system_fingerprint` is the same for every answer of one model, on every chunk, and another one for another model.",
  (prove) => {
    prove(
      "equal within a server and between two servers of one file, different between files",
      async () => {
        const [plain, wide, fim] = await Promise.all([
          server("plain"),
          server("wide"),
          server("fim"),
        ]);
        const { system_fingerprint } = await plain.complete(body);
        expect(system_fingerprint).toMatch(/^fp_[0-9a-f]+$/);
        for (const chunk of (await plain.stream({ ...body, seed: 2 })).chunks) {
          expect(chunk.system_fingerprint).toBe(system_fingerprint);
        }
        expect((await wide.complete(body)).system_fingerprint).toBe(system_fingerprint);
        expect((await fim.complete(body)).system_fingerprint).not.toBe(system_fingerprint);
      },
    );
  },
);
