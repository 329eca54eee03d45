/** Section 2: request fields, their types and ranges. */
import { expect } from "vitest";
import { completionsPath } from "../support/api.ts";
import { rulesOf } from "../support/rule.ts";
import { server } from "../support/servers.ts";
import { choiceOf } from "../support/wire.ts";

const rule = rulesOf(import.meta.url);
const body = { prompt: "The river was", max_tokens: 3, seed: 7 };

rule("2.1", "An explicit null is the same as leaving the field out.", (prove) => {
  const nullable = [
    "suffix",
    "n",
    "best_of",
    "echo",
    "logprobs",
    "temperature",
    "top_p",
    "frequency_penalty",
    "presence_penalty",
    "logit_bias",
    "stop",
    "stream",
    "stream_options",
    "user",
    "model",
  ];

  prove("null in every field at once gives the answer of a request without them", async () => {
    const api = await server("plain");
    const plain = await api.complete(body);
    const nulls = Object.fromEntries(nullable.map((name) => [name, null]));
    const answer = await api.complete({ ...nulls, ...body });
    expect(answer.choices).toEqual(plain.choices);
    expect(
      (await api.complete({ prompt: null, max_tokens: null, seed: null })).usage.completion_tokens,
    ).toBeLessThanOrEqual(16);
  });
});

rule(
  "2.2",
  "Whole numbers may be written as `1.0` or `1e0`; fractions are refused where an integer is wanted.",
  (prove) => {
    prove("floats with whole values pass in integer fields, prompts included", async () => {
      const api = await server("plain");
      const text =
        '{"prompt":[300.0,3.1e2],"max_tokens":2.0,"n":2e0,"logprobs":1.0,"seed":7.0,"best_of":2.0}';
      const { status, text: answer } = await api.send(completionsPath, { body: text });
      expect(status).toBe(200);
      expect(JSON.parse(answer).choices.length).toBe(2);
    });

    prove("1.5 is refused", async () => {
      const api = await server("plain");
      for (const field of ["max_tokens", "n", "best_of", "logprobs", "seed"]) {
        const error = await api.refuse({ ...body, [field]: 1.5 });
        expect(error).toMatchObject({ status: 400, param: field, code: "invalid_type" });
      }
    });
  },
);

rule("2.3", "Booleans and numbers written as texts are refused.", (prove) => {
  prove("a text in a boolean or number field is a 400 that names the field", async () => {
    const api = await server("plain");
    for (const [field, value] of [
      ["echo", "true"],
      ["stream", "false"],
      ["n", "1"],
      ["temperature", "0.5"],
    ]) {
      const error = await api.refuse({ ...body, [field as string]: value });
      expect(error).toMatchObject({ status: 400, param: field, code: "invalid_type" });
      expect(error.message).toContain(`'${field}'`);
    }
  });
});

rule(
  "2.4",
  "Every number has a range; its ends are accepted and what lies beyond is a 400 with the field and the side.",
  (prove) => {
    const ranges: readonly [
      field: string,
      min: number,
      max: number,
      kind: "integer" | "decimal",
    ][] = [
      ["n", 1, 128, "integer"],
      ["best_of", 0, 20, "integer"],
      ["logprobs", 0, 5, "integer"],
      ["temperature", 0, 2, "decimal"],
      ["top_p", 0, 1, "decimal"],
      ["frequency_penalty", -2, 2, "decimal"],
      ["presence_penalty", -2, 2, "decimal"],
    ];

    for (const [field, min, max, kind] of ranges) {
      prove(`${field}: ${min} to ${max}`, async () => {
        const api = await server("plain");
        const step = kind === "integer" ? 1 : 0.001;
        for (const value of [min, max])
          await api.complete({ ...body, max_tokens: 1, [field]: value });
        const below = await api.refuse({ ...body, [field]: min - step });
        expect(below).toMatchObject({ status: 400, param: field, code: `${kind}_below_min_value` });
        const above = await api.refuse({ ...body, [field]: max + step });
        expect(above).toMatchObject({ status: 400, param: field, code: `${kind}_above_max_value` });
      });
    }

    prove("max_tokens: from 0 on", async () => {
      const api = await server("plain");
      expect((await api.complete({ ...body, max_tokens: 0 })).usage.completion_tokens).toBe(0);
      const error = await api.refuse({ ...body, max_tokens: -1 });
      expect(error).toMatchObject({ param: "max_tokens", code: "integer_below_min_value" });
    });
  },
);

rule(
  "2.5",
  "`logprobs` goes to 5; a server with the extended limits profile accepts 20, and the refusal says so.",
  (prove) => {
    prove(
      "6 is refused with a hint, accepted by the other profile, and 21 is too many there",
      async () => {
        const error = await (await server("plain")).refuse({ ...body, logprobs: 6 });
        expect(error.message).toMatch(/extended/);
        const wide = await server("wide");
        const answer = await wide.complete({
          ...body,
          max_tokens: 1,
          logprobs: 20,
          ignore_eos: true,
        });
        const top = choiceOf(answer).logprobs?.top_logprobs[0] ?? {};
        expect(Object.keys(top).length).toBeGreaterThanOrEqual(20);
        expect(await wide.refuse({ ...body, logprobs: 21 })).toMatchObject({ param: "logprobs" });
      },
    );
  },
);

rule(
  "2.6",
  "`stop` takes a text or up to 4 texts, 64 with the extended profile; empty texts and an empty list are ignored.",
  (prove) => {
    const stops = (count: number) => Array.from({ length: count }, (_, index) => `never ${index}`);

    prove(
      "5 are refused with a hint, accepted by the other profile, and 65 are too many there",
      async () => {
        const api = await server("plain");
        const wide = await server("wide");
        await api.complete({ ...body, stop: stops(4) });
        const error = await api.refuse({ ...body, stop: stops(5) });
        expect(error).toMatchObject({ status: 400, param: "stop", code: "array_above_max_length" });
        expect(error.message).toMatch(/extended/);
        await wide.complete({ ...body, stop: stops(64) });
        expect(await wide.refuse({ ...body, stop: stops(65) })).toMatchObject({ param: "stop" });
      },
    );

    prove("empty texts change nothing and do not count", async () => {
      const api = await server("plain");
      const { choices } = await api.complete(body);
      for (const stop of ["", [], [""], ["", "", "", "", "", "never"]]) {
        expect((await api.complete({ ...body, stop })).choices).toEqual(choices);
      }
    });
  },
);

rule("2.7", "A request that names no model is answered by the server's default model.", (prove) => {
  prove("no model, null and an empty name", async () => {
    const api = await server("plain");
    const { model, choices } = await api.complete(body);
    expect(model).toMatch(/^tiny-plain/);
    for (const name of [null, "", model]) {
      expect(await api.complete({ ...body, model: name })).toMatchObject({ model, choices });
    }
  });
});

rule("2.8", "Seeds may have 64 bits; a negative seed means a fresh one.", (prove) => {
  prove("the largest seed repeats itself, negative ones do not", async () => {
    const api = await server("plain");
    const text = JSON.stringify({ ...body, max_tokens: 24, ignore_eos: true });
    const ask = async (seed: string) => {
      const request = text.replace('"seed":7', `"seed":${seed}`);
      const reply = await api.send(completionsPath, { body: request });
      expect(reply.status).toBe(200);
      return choiceOf(JSON.parse(reply.text)).text;
    };
    expect(await ask("9223372036854775807")).toBe(await ask("9223372036854775807"));
    const fresh = new Set<string>();
    for (let round = 0; round < 4; round += 1) fresh.add(await ask("-1"));
    expect(fresh.size).toBeGreaterThan(1);
  });
});
