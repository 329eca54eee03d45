/** Section 1: endpoint, headers of transport, browsers. */
import { expect } from "vitest";
import { chunksOf, RawClient } from "../../../src/http/testing/raw-client.ts";
import { completionsPath, errorOf } from "../support/api.ts";
import { rulesOf } from "../support/rule.ts";
import { apiKey, namedOrigin, server } from "../support/servers.ts";
import { choiceOf } from "../support/wire.ts";

const rule = rulesOf(import.meta.url);
const body = { prompt: "The river was", max_tokens: 2, seed: 1 };

rule("1.1", "`POST /v1/completions` with a JSON body and a bearer key answers 200.", (prove) => {
  prove("with its key a guarded server answers", async () => {
    const api = await server("keyed");
    const headers = { authorization: `Bearer ${apiKey}` };
    const reply = await api.send(completionsPath, { body, headers });
    expect(reply.status).toBe(200);
    expect(JSON.parse(reply.text).choices.length).toBe(1);
  });
});

rule(
  "1.2",
  "The body alone decides whether the answer is streamed; the `Accept` header does not matter.",
  (prove) => {
    prove("each kind of answer under the other kind's Accept", async () => {
      const api = await server("plain");
      const whole = await api.send(completionsPath, {
        body,
        headers: { accept: "text/event-stream" },
      });
      expect(JSON.parse(whole.text).object).toBe("text_completion");
      const streamed = await api.send(completionsPath, {
        body: { ...body, stream: true },
        headers: { accept: "application/json" },
      });
      expect(streamed.text.endsWith("data: [DONE]\n\n")).toBe(true);
    });
  },
);

rule(
  "1.3",
  "Good answers, streamed or not, carry `Cache-Control: no-cache, must-revalidate`.",
  (prove) => {
    prove("both kinds carry the header", async () => {
      const api = await server("plain");
      for (const { headers } of [await api.complete(body), await api.stream(body)]) {
        expect(headers.get("cache-control")).toBe("no-cache, must-revalidate");
      }
    });
  },
);

rule("1.4", "Bodies are compact JSON on one line.", (prove) => {
  prove("a body is what its compact form is, and so is an error", async () => {
    const api = await server("plain");
    const { raw } = await api.complete({ ...body, n: 2 });
    expect(raw).toBe(JSON.stringify(JSON.parse(raw)));
    const { text } = await api.send(completionsPath, { body: { ...body, n: 0 } });
    expect(text).toBe(JSON.stringify(JSON.parse(text)));
  });
});

rule("1.5", "Long bodies are gzipped for clients that accept it; streams never are.", (prove) => {
  const long = { ...body, prompt: "river ".repeat(300), max_tokens: 1, echo: true };

  async function rawAnswer(request: object): Promise<string> {
    const client = await RawClient.open((await server("plain")).port);
    client.post(request, ["Accept-Encoding: gzip", "Connection: close"]);
    return client.end();
  }

  prove("a body of over a kilobyte is gzip, and unpacks to the same answer", async () => {
    expect(await rawAnswer(long)).toMatch(/content-encoding: gzip/i);
    const api = await server("plain");
    const headers = { "accept-encoding": "gzip" };
    const reply = await api.send(completionsPath, { body: long, headers });
    expect(choiceOf(JSON.parse(reply.text)).text).toContain(long.prompt);
  });

  prove("a stream stays as it is", async () => {
    const answer = await rawAnswer({ ...long, stream: true });
    expect(answer).not.toMatch(/content-encoding/i);
    expect(chunksOf(answer).at(-1)).toBe("data: [DONE]\n\n");
  });
});

rule(
  "1.6",
  "`POST /v1/engines/{model}/completions` takes the model from the path, and from nowhere else.",
  (prove) => {
    prove("answers with the model of the path, refuses one that is unknown", async () => {
      const api = await server("plain");
      const answer = await api.complete(
        { ...body, model: "no-such" },
        "/v1/engines/davinci-002/completions",
      );
      expect(answer.model).toBe("davinci-002");
      const refused = await api.send("/v1/engines/no-such/completions", { body });
      expect(refused.status).toBe(404);
      expect(errorOf(refused.text).code).toBe("model_not_found");
    });
  },
);

rule(
  "1.7",
  "Without keys only pages from loopback addresses may call; other origins get 403, with or without a preflight.",
  (prove) => {
    prove("a loopback page is answered and may read the answer", async () => {
      const api = await server("plain");
      for (const origin of ["http://localhost:3000", "http://127.0.0.1:5173", "http://[::1]:80"]) {
        const { status, headers } = await api.send(completionsPath, { body, headers: { origin } });
        expect(status).toBe(200);
        expect(headers.get("access-control-allow-origin")).toBe(origin);
        expect(headers.get("access-control-expose-headers")).toMatch(/x-request-id/i);
        expect(headers.get("vary")).toMatch(/origin/i);
      }
    });

    prove("a page of the web is refused and gets no CORS header", async () => {
      const api = await server("plain");
      for (const origin of ["https://example.org", "null", "http://localhost.example.org"]) {
        const { status, headers, text } = await api.send(completionsPath, {
          body,
          headers: { origin },
        });
        expect(status).toBe(403);
        expect(errorOf(text).code).toBe("forbidden_origin");
        expect(headers.get("access-control-allow-origin")).toBeNull();
      }
    });
  },
);

rule(
  "1.8",
  "With keys in use every origin may call; a preflight needs no key and is answered 200 with the allowed methods and a day of validity.",
  (prove) => {
    const origin = "https://example.org";

    prove("preflight and answer carry the CORS headers", async () => {
      const api = await server("keyed");
      const preflight = await api.send(completionsPath, {
        method: "OPTIONS",
        headers: {
          origin,
          "access-control-request-method": "POST",
          "access-control-request-headers": "authorization,content-type",
        },
      });
      expect(preflight.status).toBe(200);
      expect(preflight.headers.get("access-control-allow-origin")).toBe("*");
      expect(preflight.headers.get("access-control-allow-methods")).toBe("GET, OPTIONS, POST");
      expect(preflight.headers.get("access-control-max-age")).toBe("86400");
      expect(preflight.headers.get("access-control-allow-headers")).toBe(
        "authorization,content-type",
      );
      const headers = { origin, authorization: `Bearer ${apiKey}` };
      const reply = await api.send(completionsPath, { body, headers });
      expect(reply.status).toBe(200);
      expect(reply.headers.get("access-control-allow-origin")).toBe("*");
      expect(reply.headers.get("access-control-expose-headers")).toBe("X-Request-ID");
    });
  },
);

rule(
  "1.9",
  "Without keys the server answers only to loopback host names, so that no name of a stranger's can be pointed at it.",
  (prove) => {
    async function statusFor(host: string): Promise<string> {
      const client = await RawClient.open((await server("plain")).port);
      client.send(`GET /v1/models HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      return client.end();
    }

    prove("loopback names pass, any other name gets 403", async () => {
      for (const host of ["localhost", "127.0.0.1:8080", "[::1]:1", "LOCALHOST."]) {
        expect(await statusFor(host), host).toMatch(/^HTTP\/1\.1 200 /);
      }
      for (const host of ["example.org", "localhost.example.org", "10.0.0.1"]) {
        const answer = await statusFor(host);
        expect(answer, host).toMatch(/^HTTP\/1\.1 403 /);
        expect(answer).toContain('"code":"forbidden_host"');
      }
    });
  },
);

rule(
  "1.10",
  "`--cors` names the origins whose pages may call; a page of another origin may not, and neither may a preflight of one.",
  (prove) => {
    prove("the named origin alone", async () => {
      const api = await server("strict");
      const preflight = { "access-control-request-method": "POST" };
      const allowed = { origin: namedOrigin };
      const named = await api.send(completionsPath, {
        method: "OPTIONS",
        headers: { ...allowed, ...preflight },
      });
      expect(named.status).toBe(200);
      expect(named.headers.get("access-control-allow-origin")).toBe(namedOrigin);
      expect((await api.send("/v1/models", { headers: allowed })).status).toBe(200);
      for (const origin of ["https://other.example.org", "http://localhost:3000"]) {
        const other = await api.send(completionsPath, {
          method: "OPTIONS",
          headers: { origin, ...preflight },
        });
        expect(other.headers.get("access-control-allow-origin")).toBeNull();
        expect((await api.send("/v1/models", { headers: { origin } })).status).toBe(403);
      }
    });
  },
);
