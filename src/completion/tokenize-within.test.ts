import { expect, test } from "vitest";
import type { ApiError } from "../contract/errors.ts";
import { FakeEngine, scriptedLogits } from "../engine/testing/fake-engine.ts";
import { testVocabulary } from "../engine/testing/vocabulary.ts";
import { tokenizeStart, tokenizeWithin } from "./tokenize-within.ts";

const vocabulary = testVocabulary({ tokens: [" ".repeat(64)] });
const options = { addSpecial: false, parseSpecial: false };

/** An engine that remembers how much text it was given. */
class CountingEngine extends FakeEngine {
  unitsRead = 0;
  override tokenize(...parameters: Parameters<FakeEngine["tokenize"]>) {
    this.unitsRead += parameters[0].length;
    return super.tokenize(...parameters);
  }
}

const newEngine = () =>
  new CountingEngine({ vocabulary, logits: scriptedLogits(vocabulary, 1, []) });
const { contextLength } = newEngine().describe();

test("a text that may fit is read once, as a whole", async () => {
  const engine = newEngine();
  const text = "a".repeat(contextLength + 5);
  const tokens = await tokenizeWithin(engine, text, { ...options, maxTokens: 1 });
  expect(tokens).toEqual(vocabulary.encode(text));
  expect(engine.unitsRead).toBe(text.length);
});

test("a text of long tokens is read to its end, however many characters it has", async () => {
  const text = " ".repeat(64 * contextLength);
  const tokens = await tokenizeWithin(newEngine(), text, { ...options, maxTokens: 1 });
  expect(tokens).toHaveLength(contextLength);
});

test("a text that is far too long is refused by its beginning, with an estimate", async () => {
  const engine = newEngine();
  const text = "a".repeat(1000 * contextLength);
  const refused = tokenizeWithin(engine, text, { ...options, maxTokens: 7 });
  const error = (await refused.catch((thrown: unknown) => thrown)) as ApiError;
  expect(error.code).toBe("context_length_exceeded");
  expect(error.message).toContain(
    `you requested ${text.length + 7} tokens (${text.length} in your prompt; 7 for the completion)`,
  );
  expect(engine.unitsRead).toBeLessThan(text.length / 50);
});

test("a cut never makes half a character of a whole one", async () => {
  const units: string[] = [];
  const engine = newEngine();
  const tokenize = engine.tokenize.bind(engine);
  engine.tokenize = (text, given) => {
    units.push(text);
    return tokenize(text, given);
  };
  const text = `a${"😀".repeat(20 * contextLength)}`;
  await tokenizeWithin(engine, text, { ...options, maxTokens: 1 }).catch(() => undefined);
  expect(units.length).toBeGreaterThan(0);
  expect(units.every((part) => part.isWellFormed())).toBe(true);
});

test("of a text whose beginning is wanted, no more is read than needed", async () => {
  const engine = newEngine();
  const text = "ab".repeat(100_000);
  const tokens = await tokenizeStart(engine, text, options, 64);
  expect(tokens.slice(0, 64)).toEqual(vocabulary.encode("ab".repeat(32)));
  expect(engine.unitsRead).toBeLessThan(2000);
});
