/** Section 2, continued: names, seeds, maps and texts. */
import { expect } from "vitest";
import { rulesOf } from "../support/rule.ts";
import { modelName, server } from "../support/servers.ts";
import { choiceOf } from "../support/wire.ts";

const rule = rulesOf(import.meta.url);
const body = { prompt: "The river was", max_tokens: 3, seed: 7 };

rule(
  "2.9",
  "`stream_options` without `stream: true` is ignored, and refused by a strict server.",
  (prove) => {
    const options = { stream_options: { include_usage: true } };

    prove("ignored by default, 400 when strict", async () => {
      const answer = await (await server("plain")).complete({ ...body, ...options });
      expect(answer.usage.total_tokens).toBeGreaterThan(0);
      const error = await (await server("strict")).refuse({
        ...{ ...body, ...options, model: modelName },
      });
      expect(error).toMatchObject({ status: 400, param: "stream_options" });
    });
  },
);

rule("2.10", "`max_tokens` is 16 when it is not given.", (prove) => {
  prove("sixteen tokens of a text that does not end", async () => {
    const api = await server("plain");
    const answer = await api.complete({ prompt: "The river was", seed: 1, ignore_eos: true });
    expect(answer.usage.completion_tokens).toBe(16);
    expect(choiceOf(answer).finish_reason).toBe("length");
  });
});

rule(
  "2.11",
  "`logit_bias` maps up to 1024 token ids to numbers from -100 to 100, fractions included; other keys and values are refused.",
  (prove) => {
    const many = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, id) => [id, 0]));

    prove("null, an empty map and fractions pass", async () => {
      const api = await server("plain");
      for (const logit_bias of [null, {}, { 5: 0.25 }, { 5: -100, 6: 100 }])
        await api.complete({ ...body, logit_bias });
    });

    prove(
      "keys that are no ids, ids beyond the vocabulary and biases out of range are refused",
      async () => {
        const api = await server("plain");
        const named = await api.refuse({ ...body, logit_bias: { You: 5 } });
        expect(named).toMatchObject({ status: 400, param: "logit_bias", code: null });
        expect(named.message).toBe(
          "Invalid key in 'logit_bias': You. You should only be submitting non-negative integers.",
        );
        for (const logit_bias of [
          { "-1": 1 },
          { "1.5": 1 },
          { 5000: 1 },
          { 5: 101 },
          { 5: -100.5 },
          { 5: null },
          [1],
        ]) {
          expect((await api.refuse({ ...body, logit_bias })).status).toBe(400);
        }
        expect((await api.refuse({ ...body, logit_bias: many(1025) })).message).toContain("1024");
      },
    );
  },
);

rule("2.12", "`user` is a text or null, `suffix` one text.", (prove) => {
  prove("texts pass, anything else is refused", async () => {
    const api = await server("plain");
    await api.complete({ ...body, user: "user-1234" });
    await api.complete({ ...body, user: null });
    expect(await api.refuse({ ...body, user: 5 })).toMatchObject({ status: 400, param: "user" });
    expect(await api.refuse({ ...body, suffix: ["a"] })).toMatchObject({
      status: 400,
      param: "suffix",
    });
  });
});
