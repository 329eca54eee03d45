/** No request makes the server open a connection, whatever address stands in it. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { server } from "../../src/http/testing/injected-server.ts";

/** Whoever came to the address that requests name. */
let visitors = 0;
/** Sockets that this process opened: requests are injected, so the server would be the only one. */
let sockets = 0;
const trap = createServer((socket) => {
  visitors += 1;
  socket.destroy();
});
const count = () => {
  sockets += 1;
};

beforeAll(async () => {
  await new Promise<void>((resolve) => trap.listen(0, "127.0.0.1", resolve));
  subscribe("net.client.socket", count);
});

afterAll(() => {
  unsubscribe("net.client.socket", count);
  trap.close();
});

const fields = [
  ...["model", "prompt", "suffix", "user", "stop", "url", "image_url", "callback_url", "webhook"],
  ...["logit_bias", "stream_options", "metadata", "base_url", "api_base", "files", "input"],
  ...["response_format", "tools", "guided_json", "lora", "adapter", "draft_model", "hf_repo"],
];

test("addresses in fields, headers and paths are not visited", async () => {
  const { port } = trap.address() as AddressInfo;
  const address = `http://127.0.0.1:${port}/trap`;
  const { app, post } = server();
  for (const field of fields) {
    for (const value of [address, [address], { url: address }]) {
      await post({ prompt: "a", [field]: value });
    }
  }
  const headers = {
    referer: address,
    "x-forwarded-host": `127.0.0.1:${port}`,
    "x-forwarded-for": `127.0.0.1:${port}`,
    forwarded: `host=127.0.0.1:${port}`,
    "x-original-url": address,
    "x-callback-url": address,
    traceparent: address,
  };
  await post({ prompt: "a" }, "/v1/completions", headers);
  for (const route of ["/v1/models/", "/v1/engines/", "/v1/tokenizer_info?model=", "/"]) {
    for (const name of [address, encodeURIComponent(address)]) {
      await app.inject({ url: route + name, headers: { host: "localhost", ...headers } });
    }
  }
  for (const route of ["/v1/tokenize", "/v1/detokenize"]) {
    await post({ model: address, prompt: address, text: address, url: address }, route);
  }
  // An accepted connection would have been seen by now: this one comes after all of them.
  const own = new Promise<void>((resolve) => trap.once("connection", () => resolve()));
  const socketsBefore = sockets;
  const { connect } = await import("node:net");
  connect(port, "127.0.0.1").on("error", () => {});
  await own;
  expect({ socketsBefore, visitors }).toEqual({ socketsBefore: 0, visitors: 1 });
  // The trap works, and so does the count.
  expect(sockets).toBe(1);
});
