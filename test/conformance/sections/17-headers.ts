/** Section 17: headers of answers. */
import { expect } from "vitest";
import { completionsPath } from "../support/api.ts";
import { rulesOf } from "../support/rule.ts";
import { server } from "../support/servers.ts";

const rule = rulesOf(import.meta.url);
const body = { prompt: "x", max_tokens: 1 };

rule(
  "17.1",
  "Every answer has an `x-request-id` of its own: `req_` and 32 hexadecimal digits.",
  (prove) => {
    prove("answers, streams, errors, a refused key and an unknown URL", async () => {
      const [plain, keyed] = [await server("plain"), await server("keyed")];
      const replies = [
        await plain.send(completionsPath, { body }),
        await plain.send(completionsPath, { body: { ...body, stream: true } }),
        await plain.send(completionsPath, { body: { ...body, n: 0 } }),
        await keyed.send(completionsPath, { body }),
        await plain.send("/v1/nothing"),
      ];
      const ids = replies.map(({ headers }) => headers.get("x-request-id"));
      for (const id of ids) expect(id).toMatch(/^req_[0-9a-f]{32}$/);
      expect(new Set(ids).size).toBe(ids.length);
    });
  },
);

rule(
  "17.2",
  "Good answers and errors name the API's version, an organisation, the model's file and the time taken in whole milliseconds.",
  (prove) => {
    prove("openai-version, openai-organization, openai-model, openai-processing-ms", async () => {
      const api = await server("plain");
      for (const reply of [await api.complete(body), await api.stream(body)]) {
        expect(reply.headers.get("openai-version")).toBe("2020-10-01");
        expect(reply.headers.get("openai-organization")).toBeTruthy();
        expect(reply.headers.get("openai-model")).toMatch(/^tiny-plain/);
        expect(reply.headers.get("openai-processing-ms")).toMatch(/^\d+$/);
      }
    });
  },
);

rule("17.3", "A 401 has the request id and none of the `openai-` headers.", (prove) => {
  prove("without a key", async () => {
    const { status, headers } = await (await server("keyed")).send(completionsPath, { body });
    expect(status).toBe(401);
    expect([...headers.keys()].filter((name) => name.startsWith("openai-"))).toEqual([]);
    expect(headers.get("x-request-id")).toBeTruthy();
  });
});

rule(
  "17.4",
  "Where a key has no limit there are no `x-ratelimit-` headers, and never an `x-powered-by`.",
  (prove) => {
    prove("no such header", async () => {
      const { headers } = await (await server("plain")).complete(body);
      const names = [...headers.keys()];
      expect(names.filter((name) => /^x-ratelimit-|^x-powered-by$/.test(name))).toEqual([]);
    });
  },
);

rule("17.5", "A client's own `x-request-id` comes back as `x-client-request-id`.", (prove) => {
  prove("a usable one comes back, one with spaces does not", async () => {
    const api = await server("plain");
    const idFor = async (id: string) => {
      const { headers } = await api.send(completionsPath, {
        body,
        headers: { "x-request-id": id },
      });
      expect(headers.get("x-request-id")).toMatch(/^req_/);
      return headers.get("x-client-request-id");
    };
    expect(await idFor("bench-17")).toBe("bench-17");
    expect(await idFor("two words")).toBeNull();
  });
});

rule("17.6", "The headers that official clients send are accepted and change nothing.", (prove) => {
  prove(
    "organisation, project, the clients' own headers, an idempotency key used twice",
    async () => {
      const api = await server("plain");
      const request = { prompt: "The river was", max_tokens: 12, ignore_eos: true };
      const headers = {
        "openai-organization": "org-x",
        "openai-project": "proj-x",
        "openai-beta": "assistants=v2",
        "x-stainless-retry-count": "1",
        "x-stainless-lang": "js",
        "x-stainless-timeout": "600",
        "idempotency-key": "one",
      };
      const texts: string[] = [];
      for (const seed of [1, 2]) {
        const reply = await api.send(completionsPath, { body: { ...request, seed }, headers });
        expect(reply.status).toBe(200);
        texts.push(JSON.parse(reply.text).choices[0].text);
        expect(texts.at(-1)).toBe((await api.complete({ ...request, seed })).choices[0]?.text);
      }
      expect(texts[0]).not.toBe(texts[1]);
    },
  );
});
