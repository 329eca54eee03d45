import { afterEach, describe, expect, test } from "vitest";
import { FakeAccess } from "../access/testing/fake-access.ts";
import { fakeServer } from "./testing/fake-server.ts";

const apps: ReturnType<typeof fakeServer>[] = [];

afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
});

/** The catalog has the models fake (also davinci-002, and the default) and org/name. */
function server(models: readonly string[] | undefined) {
  const access = new FakeAccess();
  const key = access.addKey("sk-a", { models });
  const app = fakeServer({ access });
  apps.push(app);
  const headers = { host: "localhost", "content-type": "application/json", ...key };
  return {
    access,
    get: (url: string) => app.inject({ method: "GET", url, headers }),
    post: (url: string, body: object) =>
      app.inject({ method: "POST", url, headers, payload: JSON.stringify(body) }),
  };
}

describe("a key that is limited to some models", () => {
  test.each([
    [["fake"], ["fake", "davinci-002"]],
    [["davinci-002"], ["fake", "davinci-002"]],
    [["org/name"], ["org/name"]],
    [
      ["org/name", "davinci-002"],
      ["fake", "org/name", "davinci-002"],
    ],
    [["gone"], []],
    [[], []],
  ])("%j sees %j", async (models, seen) => {
    const { get } = server(models);
    for (const url of ["/v1/models", "/v1/engines"]) {
      const { data } = (await get(url)).json();
      expect(data.map(({ id }: { id: string }) => id)).toEqual(seen);
    }
  });

  test("uses them under all their names, and finds no others", async () => {
    const { access, get, post } = server(["davinci-002"]);
    for (const model of ["fake", "davinci-002", undefined]) {
      expect((await post("/v1/completions", { model })).statusCode).toBe(200);
    }
    const refusals = [
      await post("/v1/completions", { model: "org/name" }),
      await post("/v1/engines/org/name/completions", {}),
      await post("/tokenize", { model: "org/name", prompt: "a" }),
      await post("/detokenize", { model: "org/name", tokens: [97] }),
      await get("/tokenizer_info?model=org/name"),
      await get("/v1/models/org/name"),
      await get("/v1/engines/org/name"),
    ];
    const unknown = (await post("/v1/completions", { model: "nope" })).json();
    for (const answer of refusals) {
      expect(answer.statusCode).toBe(404);
      // The words say no more than those about a model that there is not.
      const { error } = answer.json();
      expect(error).toEqual({
        ...unknown.error,
        message: unknown.error.message.replace("nope", "org/name"),
      });
    }
    expect((await post("/v1/engines/org/name", {})).statusCode).toBe(404);
    expect(access.reservations).toHaveLength(3);
  });

  test("is not given a default model that it may not use", async () => {
    const { post } = server(["org/name"]);
    const answer = await post("/v1/completions", {});
    expect([answer.statusCode, answer.json().error.code]).toEqual([404, "model_not_found"]);
  });
});

test("a key without a list may use all", async () => {
  const { get } = server(undefined);
  expect((await get("/v1/models")).json().data).toHaveLength(3);
});
