/** Keys such as `__proto__` are data like any other, wherever a client may choose a name. */
import { afterEach, expect, test } from "vitest";
import { loadConfiguration } from "../../src/config/load.ts";
import { server } from "../../src/http/testing/injected-server.ts";
import { ModelCatalog } from "../../src/models/catalog.ts";
import { Metrics } from "../../src/observe/metrics.ts";

const names = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf"];
const pristine = JSON.stringify(Object.getOwnPropertyNames(Object.prototype).sort());

afterEach(() => {
  const fresh = {} as Record<string, unknown>;
  expect(fresh.polluted).toBeUndefined();
  expect(JSON.stringify(Object.getOwnPropertyNames(Object.prototype).sort())).toBe(pristine);
});

/** As text: an object literal would set the prototype instead of a key. */
const body = (inside: string): string => `{"prompt":"a",${inside}}`;

test.each(names)(
  "%s as a field is ignored like every unknown one, and refused in strict",
  async (name) => {
    for (const value of ['{"polluted":true}', '{"prototype":{"polluted":true}}', "[]", "1"]) {
      const { post } = server();
      const answer = await post(body(`${JSON.stringify(name)}:${value}`));
      expect(answer.statusCode).toBe(200);
      expect(answer.headers["x-ignored-params"]).toBe(name);
      const strict = server({ options: { strict: true } });
      expect((await strict.post(body(`${JSON.stringify(name)}:${value}`))).statusCode).toBe(400);
    }
  },
);

test.each(names)(
  "%s inside of stream_options and logit_bias is refused or ignored",
  async (name) => {
    const { post } = server();
    const key = JSON.stringify(name);
    const inside = `"stream":true,"stream_options":{${key}:{"polluted":true}}`;
    expect([200, 400]).toContain((await post(body(inside))).statusCode);
    const bias = await post(body(`"logit_bias":{${key}:1}`));
    expect(bias.statusCode).toBe(400);
  },
);

test("a prototype does not fill in fields that were not sent", async () => {
  const { post } = server({ options: {} });
  const answer = await post('{"__proto__":{"prompt":"a","n":5,"echo":true}}');
  expect(answer.statusCode).toBe(200);
  expect(answer.json().choices).toHaveLength(1);
  expect(answer.json().choices[0].text).toBe("Hi");
});

test.each(names)("%s is no model and no engine", async (name) => {
  const { app, post } = server();
  expect((await post({ prompt: "a", model: name })).statusCode).toBe(404);
  for (const route of ["/v1/models/", "/v1/engines/", "/v1/tokenizer_info?model="]) {
    const answer = await app.inject({ url: route + name, headers: { host: "localhost" } });
    expect(answer.statusCode).toBe(404);
  }
});

test.each(names)("%s as a parameter of a query is none", async (name) => {
  const { app } = server();
  const url = `/v1/models?${name}=1&${name}[polluted]=1&${name}.polluted=1`;
  expect((await app.inject({ url, headers: { host: "localhost" } })).statusCode).toBe(200);
});

test.each(names)("%s may be an alias, and means only what it was given", (name) => {
  const catalog = new ModelCatalog({
    models: [],
    aliases: new Map([[name, "gone"]]),
    defaultModel: undefined,
  });
  expect(() => catalog.resolve(name)).toThrow(
    expect.objectContaining({ errorName: "modelNotFound" }),
  );
});

test.each(names)("%s is no setting of the environment or of a flag", (name) => {
  const load = () =>
    loadConfiguration({
      flags: JSON.parse(`{${JSON.stringify(name)}:{"polluted":true}}`),
      environment: { [`COMPLETIONIST_${name}`]: "1" },
      file: undefined,
      folder: "/nowhere",
    });
  // Either is fine as long as nothing is polluted.
  try {
    expect(Object.hasOwn(load().configuration, name)).toBe(false);
  } catch (error) {
    expect(error).toBeInstanceOf(Error);
  }
});

test.each(names)("%s as an ignored parameter is counted under its name", async (name) => {
  const metrics = new Metrics();
  metrics.requests.ignored([name]);
  const text = await metrics.text();
  expect(text).toContain(`completionist_ignored_parameters_total{parameter="${name}"} 1`);
});
