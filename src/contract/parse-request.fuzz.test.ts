import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ApiError } from "./errors.ts";
import { limitsProfiles } from "./limits.ts";
import { parseCompletionRequest, readModelName } from "./parse-request.ts";
import { completionRequestSchema } from "./request-schema.ts";

const limits = limitsProfiles.openai;
const names = Object.keys(completionRequestSchema(limits).shape);

/** Values near the ones that are right, and anything else that JSON can hold. */
const value = fc.oneof(
  fc.jsonValue(),
  fc.integer({ min: -3, max: 200 }),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
  fc.string({ unit: "binary" }),
  fc.array(fc.oneof(fc.nat(), fc.string(), fc.array(fc.nat()))),
  fc.dictionary(fc.oneof(fc.nat().map(String), fc.string()), fc.double({ min: -200, max: 200 })),
);

const body = fc.oneof(
  fc.jsonValue(),
  fc
    .array(fc.tuple(fc.oneof(fc.constantFrom(...names), fc.string()), value), { maxLength: 8 })
    .map((entries) => Object.fromEntries(entries)),
);

describe("any JSON value", () => {
  test.each([true, false])(
    "is a request or a refusal with a short message (strict: %s)",
    (strict) => {
      fc.assert(
        fc.property(body, (json) => {
          try {
            readModelName(json);
            const request = parseCompletionRequest(json, { limits, strict });
            expect(request.prompts.length * request.bestOf).toBeLessThanOrEqual(2048);
            expect(request.bestOf).toBeGreaterThanOrEqual(request.n);
          } catch (error) {
            if (!(error instanceof ApiError)) throw error;
            expect(error.status).toBe(400);
            expect(error.message.isWellFormed()).toBe(true);
            expect(error.message.length).toBeLessThan(3000);
          }
        }),
        { numRuns: 3000 },
      );
    },
  );
});
