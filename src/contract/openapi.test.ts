import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, test } from "vitest";
import { limitsProfiles } from "./limits.ts";
import { openApiDocument } from "./openapi.ts";

const document = (profile: "openai" | "extended") =>
  JSON.parse(
    JSON.stringify(
      openApiDocument({ limits: limitsProfiles[profile], version: "1.2.3", basePath: "/llm" }),
    ),
  );

describe("the OpenAPI document", () => {
  test("is OpenAPI 3.1 and names version and base path", () => {
    expect(document("openai")).toMatchObject({
      openapi: "3.1.0",
      info: { version: "1.2.3" },
      servers: [{ url: "/llm" }],
    });
  });

  test.each(["openai", "extended"] as const)("%s: is valid by the specification", async (name) => {
    const { valid, errors } = await new Validator().validate(document(name));
    expect(errors ?? []).toEqual([]);
    expect(valid).toBe(true);
    const broken = { ...document(name), paths: { "no-slash": {} } };
    expect((await new Validator().validate(broken)).valid).toBe(false);
  });

  test("follows the limits in force", () => {
    const range = (profile: "openai" | "extended") => {
      const fields = document(profile).components.schemas.CreateCompletionRequest.properties;
      return [fields.logprobs.anyOf[0].maximum, fields.n.anyOf[0].maximum];
    };
    expect(range("openai")).toEqual([5, 128]);
    expect(range("extended")).toEqual([20, 128]);
  });

  test("has every field of the request with a description, and none is required", () => {
    const schema = document("openai").components.schemas.CreateCompletionRequest;
    expect(Object.keys(schema.properties)).toEqual(
      expect.arrayContaining(["prompt", "logit_bias", "stop", "stream_options", "min_p"]),
    );
    for (const field of Object.values<{ description?: string }>(schema.properties)) {
      expect(field.description).toBeTypeOf("string");
    }
    expect(schema.required ?? []).toEqual([]);
  });

  test("refers only to schemas that it has", () => {
    const openapi = document("openai");
    const references = JSON.stringify(openapi).matchAll(/"#\/components\/schemas\/(\w+)"/g);
    const names = [...references].map((match) => match[1]);
    expect(names.length).toBeGreaterThan(0);
    for (const name of names) expect(openapi.components.schemas).toHaveProperty(String(name));
  });
});
