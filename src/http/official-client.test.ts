import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { aborted, type fakeServer, gate } from "./testing/fake-server.ts";
import { server } from "./testing/injected-server.ts";
import { listen } from "./testing/raw-client.ts";

describe("with the official client", () => {
  const client = async (...parameters: Parameters<typeof fakeServer>) => {
    const { app } = server(...parameters);
    const port = await listen(app);
    return new OpenAI({ apiKey: "any", baseURL: `http://127.0.0.1:${port}/v1`, maxRetries: 0 });
  };

  test("responses and streams are read", async () => {
    const openai = await client();
    const whole = await openai.completions.create({ model: "fake", prompt: "x" });
    expect(whole.choices[0]?.text).toBe("Hi");
    expect(whole._request_id).toMatch(/^req_/);
    let text = "";
    const events = await openai.completions.create({ model: "fake", prompt: "x", stream: true });
    for await (const event of events) text += event.choices[0]?.text;
    expect(text).toBe("Hi");
  });

  test("errors keep their class, code and param", async () => {
    const openai = await client();
    const refused = openai.completions.create({ model: "fake", prompt: "x", temperature: 9 });
    await expect(refused).rejects.toMatchObject({
      constructor: OpenAI.BadRequestError,
      code: "decimal_above_max_value",
      param: "temperature",
    });
  });

  test("an aborted request aborts the completion at once", async () => {
    const started = gate();
    const stopped = gate();
    const openai = await client({}, async function* (_, signal) {
      started.open();
      await aborted(signal);
      stopped.open();
      yield { kind: "admitted" };
    });
    const controller = new AbortController();
    const request = openai.completions.create(
      { model: "fake", prompt: "x" },
      { signal: controller.signal },
    );
    await started.opened;
    controller.abort();
    await expect(request).rejects.toThrow();
    await stopped.opened;
  });
});
