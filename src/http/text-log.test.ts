import { describe, expect, test } from "vitest";
import { loggedCharactersMax, loggedTextsMax } from "../observe/text-log.ts";
import { choicePart, partsOf, RecordedLog, usage } from "./testing/fake-server.ts";
import { server } from "./testing/injected-server.ts";

const secret = "a text that somebody wrote";

async function linesOf(body: object, logPrompts: boolean, answer = secret) {
  const log = new RecordedLog();
  const { post } = server({ log, options: { logPrompts } }, () =>
    partsOf([
      choicePart({ text: answer }),
      choicePart({ text: " and more", finish_reason: "stop" }),
      { kind: "usage", usage: usage(2) },
    ]),
  );
  expect((await post(body)).statusCode).toBe(200);
  return log.lines.map(({ fields }) => fields);
}

test("texts are in no line unless they are asked for", async () => {
  const lines = await linesOf({ prompt: secret, suffix: secret, user: secret }, false);
  expect(JSON.stringify(lines)).not.toContain(secret);
});

describe("where they are asked for", () => {
  test("prompt, suffix and completion are there, with the ids of both", async () => {
    const lines = await linesOf({ prompt: secret, suffix: "after" }, true);
    const ids = {
      requestId: expect.stringMatching(/^req_/),
      completionId: expect.stringMatching(/^cmpl-/),
    };
    expect(lines).toContainEqual({
      ...ids,
      prompts: 1,
      promptTexts: [secret],
      suffixText: "after",
    });
    const written = `${secret} and more`;
    expect(lines).toContainEqual({ ...ids, completionTexts: [{ index: 0, written }] });
  });

  test("they are cut, and few of many", async () => {
    const long = "x".repeat(loggedCharactersMax + 1);
    const prompt = Array.from({ length: loggedTextsMax + 5 }, () => long);
    const lines = await linesOf({ prompt }, true, long);
    const cut = `${"x".repeat(loggedCharactersMax)}...`;
    const prompts = lines.find((fields) => "promptTexts" in fields);
    expect(prompts).toMatchObject({ prompts: loggedTextsMax + 5 });
    expect(prompts?.promptTexts).toEqual(Array.from({ length: loggedTextsMax }, () => cut));
    const completion = lines.find((fields) => "completionTexts" in fields);
    expect(completion?.completionTexts).toEqual([{ index: 0, written: cut }]);
  });

  test("a prompt of tokens is their numbers", async () => {
    const lines = await linesOf({ prompt: [1, 2, 3] }, true);
    expect(lines.find((fields) => "promptTexts" in fields)?.promptTexts).toEqual(["[1, 2, 3]"]);
  });
});
