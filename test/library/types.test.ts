/** The types of the library; `tsc` is what checks most of this file. */
import { describe, expect, expectTypeOf, test } from "vitest";
import type { z } from "zod";
import { limitsProfiles } from "../../src/contract/limits.ts";
import {
  type CompletionRequestSchema,
  completionRequestSchema,
} from "../../src/contract/request-schema.ts";
import type {
  completionChunkSchema,
  completionResponseSchema,
} from "../../src/contract/response-schema.ts";
import type {
  ApiError,
  CompletionChunk,
  CompletionClient,
  CompletionExtensions,
  CompletionResponse,
  CreateCompletionRequest,
  OpenedModelClient,
  Prompt,
  Stop,
} from "../../src/index.ts";

/** Value-level, so that the runtime schema can be compared with the type. */
const contractFields = [
  "model",
  "prompt",
  "suffix",
  "max_tokens",
  "temperature",
  "top_p",
  "n",
  "stream",
  "stream_options",
  "logprobs",
  "echo",
  "stop",
  "presence_penalty",
  "frequency_penalty",
  "best_of",
  "logit_bias",
  "user",
  "seed",
] as const;

describe("a request", () => {
  test("has the eighteen fields of OpenAI's contract", () => {
    expect(new Set(contractFields).size).toBe(18);
    expectTypeOf<keyof CreateCompletionRequest>().toEqualTypeOf<(typeof contractFields)[number]>();
  });

  test("together with the extensions has all fields that are parsed, and no others", () => {
    type Parsed = keyof CompletionRequestSchema["shape"];
    type Written = keyof CreateCompletionRequest | keyof CompletionExtensions;
    expectTypeOf<Parsed>().toEqualTypeOf<Written>();
    const parsed = Object.keys(completionRequestSchema(limitsProfiles.openai).shape);
    expect(parsed).toEqual(expect.arrayContaining([...contractFields]));
  });

  test("is what the schema takes", () => {
    type Taken = z.input<CompletionRequestSchema>;
    expectTypeOf<
      Pick<CreateCompletionRequest, "max_tokens" | "temperature" | "echo" | "user" | "seed">
    >().toExtend<Taken>();
    expectTypeOf<Omit<CompletionExtensions, "stop_token_ids">>().toExtend<Taken>();
  });

  test("needs no field at all", () => {
    expectTypeOf<Record<never, never>>().toExtend<CreateCompletionRequest>();
  });

  test("takes every form of prompt, read-only or not, and nothing mixed", () => {
    expectTypeOf<string>().toExtend<Prompt>();
    expectTypeOf<string[]>().toExtend<Prompt>();
    expectTypeOf<readonly [1, 2]>().toExtend<Prompt>();
    expectTypeOf<number[][]>().toExtend<Prompt>();
    expectTypeOf<null>().toExtend<CreateCompletionRequest["prompt"]>();
    expectTypeOf<(string | number)[]>().not.toExtend<Prompt>();
    expectTypeOf<number>().not.toExtend<Prompt>();
  });

  test("has unions that typeof narrows", () => {
    const length = (stop: Stop): number => {
      if (typeof stop === "string") {
        expectTypeOf(stop).toEqualTypeOf<string>();
        return 1;
      }
      expectTypeOf(stop).toEqualTypeOf<readonly string[]>();
      return stop.length;
    };
    const isText = (prompt: Prompt): boolean => {
      if (typeof prompt !== "string") {
        expectTypeOf(prompt).toEqualTypeOf<
          readonly string[] | readonly number[] | readonly (readonly number[])[]
        >();
        return false;
      }
      expectTypeOf(prompt).toEqualTypeOf<string>();
      return true;
    };
    expect([length("a"), length(["a", "b"]), isText("a"), isText([1])]).toEqual([
      1,
      2,
      true,
      false,
    ]);
  });
});

describe("the calls", () => {
  type Create = Parameters<CompletionClient["create"]>[0];
  type Stream = Parameters<CompletionClient["stream"]>[0];

  test("create() gives a response and takes no stream: true", () => {
    expectTypeOf<
      ReturnType<CompletionClient["create"]>
    >().resolves.toEqualTypeOf<CompletionResponse>();
    expectTypeOf<{ prompt: "a"; stream: false; top_k: 3 }>().toExtend<Create>();
    expectTypeOf<{ stream: true }>().not.toExtend<Create>();
    expectTypeOf<{ stream: boolean }>().not.toExtend<Create>();
  });

  test("stream() gives chunks and takes no stream: false", () => {
    expectTypeOf<ReturnType<CompletionClient["stream"]>>().toExtend<
      AsyncIterable<CompletionChunk>
    >();
    expectTypeOf<{ prompt: "a"; stream: true }>().toExtend<Stream>();
    expectTypeOf<{ stream: false }>().not.toExtend<Stream>();
  });

  test("unknown fields and wrong types are refused", () => {
    const call = (request: Create): Create => request;
    // @ts-expect-error: no such field
    call({ max_token: 1 });
    // @ts-expect-error: a text where a number belongs
    call({ max_tokens: "1" });
    // @ts-expect-error: null stands for a default, not for a member
    call({ stop: [null] });
  });

  test("an opened model is a client that can be disposed", () => {
    expectTypeOf<OpenedModelClient>().toExtend<CompletionClient>();
    expectTypeOf<OpenedModelClient>().toExtend<AsyncDisposable>();
  });
});

describe("answers", () => {
  test("are what the schemas of the API say", () => {
    expectTypeOf<CompletionResponse>().toEqualTypeOf<z.output<typeof completionResponseSchema>>();
    expectTypeOf<CompletionChunk>().toEqualTypeOf<z.output<typeof completionChunkSchema>>();
  });

  test("errors have the four parts and a status", () => {
    expectTypeOf<Pick<ApiError, "status" | "type" | "param" | "code" | "message">>().toEqualTypeOf<{
      readonly status: number;
      readonly type: string;
      readonly param: string | null;
      readonly code: string | null;
      message: string;
    }>();
  });
});
