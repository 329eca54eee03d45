import { describe, expect, test } from "vitest";
import { ApiError, type ErrorName, errorTable } from "../contract/errors.ts";
import { choicePart, partsOf, RecordedLog, type Script } from "./testing/fake-server.ts";
import { server } from "./testing/injected-server.ts";

describe("failures", () => {
  test("of the contract, the catalog and the completion are errors in the envelope", async () => {
    const { post } = server({
      startCompletion: async () => {
        throw new ApiError("overloaded", {}, { retry: { shouldRetry: true, retryAfterMs: 1500 } });
      },
    });
    const range = await post({ temperature: 3 });
    expect([range.statusCode, range.json().error.code]).toEqual([400, "decimal_above_max_value"]);
    const unknown = await post({ model: "nope", temperature: 3 });
    expect([unknown.statusCode, unknown.json().error.code]).toEqual([404, "model_not_found"]);
    const busy = await post({});
    expect(busy.statusCode).toBe(503);
    expect(busy.headers).toMatchObject({
      "content-type": "application/json",
      "retry-after": "2",
      "retry-after-ms": "1500",
      "x-should-retry": "true",
    });
    expect(busy.headers).not.toHaveProperty("cache-control");
    expect(Object.keys(busy.json().error)).toEqual(["message", "type", "param", "code"]);
  });

  test("that nobody expected are a 500 without details, and logged", async () => {
    const log = new RecordedLog();
    const { post } = server({
      log,
      startCompletion: async () => {
        throw new Error("secret detail");
      },
    });
    const answer = await post({});
    expect(answer.statusCode).toBe(500);
    expect(answer.json().error.type).toBe("server_error");
    expect(answer.body).not.toContain("secret");
    const errors = log.lines.filter(({ level }) => level === "error");
    expect(errors).toHaveLength(1);
    expect(errors[0]?.fields).toMatchObject({ requestId: answer.headers["x-request-id"] });
  });

  test("in mid-run are HTTP errors when nothing is streamed", async () => {
    const { post } = server({}, async function* () {
      yield { kind: "admitted" };
      yield choicePart({ text: "a" });
      throw new ApiError("modelFailed", { reason: "it ended" });
    });
    expect((await post({})).statusCode).toBe(503);
  });

  test("of a run that ends without usage are 500s", async () => {
    const { post } = server({}, () => partsOf([]));
    expect((await post({})).statusCode).toBe(500);
    const empty: Script = async function* () {};
    expect((await server({}, empty).post({ stream: true })).statusCode).toBe(500);
  });
});

describe("every row of the error table", () => {
  test.each(Object.keys(errorTable) as ErrorName[])("%s goes out as it stands", async (name) => {
    const error = new ApiError(name, { param: "p", limitType: "tokens" });
    const { post } = server({
      startCompletion: async () => {
        throw error;
      },
    });
    const answer = await post({ stream: true });
    expect(answer.statusCode).toBe(errorTable[name].status);
    expect(answer.headers["content-type"]).toBe("application/json");
    expect(answer.json()).toEqual(error.body());
  });
});
