/** The HTTP server. */
import { z } from "zod";
import {
  choiceSetting,
  integerSetting,
  listSetting,
  secondsSetting,
  sizeSetting,
  textSetting,
} from "../setting-kinds.ts";

export const serverSettings = {
  host: textSetting<string>({
    placeholder: "ADDRESS",
    help: "Address to listen on. Beyond loopback a key is needed, or --no-auth.",
    pattern: /^[^\s/]+$/,
    expected: "a host name or an IP address",
    defaultValue: "127.0.0.1",
  }),
  port: integerSetting({
    placeholder: "PORT",
    help: "Port to listen on; 0 takes any free one.",
    min: 0,
    max: 65_535,
    defaultValue: 8080,
  }),
  basePath: {
    ...textSetting<string>({
      placeholder: "PATH",
      help: "Path in front of every route, for a reverse proxy: with /llm the API is /llm/v1.",
      expected: "a path such as /llm",
      defaultValue: "",
      defaultText: "none",
    }),
    // A slash at the end means the same path.
    schema: z
      .string()
      .regex(/^(\/[\w.~-]+)*\/?$/)
      .transform((path) => path.replace(/\/$/, "")),
  },
  cors: listSetting({
    placeholder: "ORIGIN",
    help: "Web origins whose pages may call this server; * for all. May be repeated.",
    entry: /^(\*|https?:\/\/[^/\s]+)$/,
    expected: "origins such as https://example.org, or *",
    defaultText: "every origin when keys are in use, else loopback origins",
  }),
  allowedHost: listSetting({
    placeholder: "NAME",
    help: "Host names, besides loopback, that a server without keys answers to. May be repeated.",
    entry: /^[^\s/]+$/,
    expected: "host names such as box.local",
    defaultText: "loopback names",
  }),
  bodyLimit: sizeSetting({
    placeholder: "SIZE",
    help: "Largest request body.",
    min: 1024,
    max: 1024 ** 3,
    defaultValue: 16 * 1024 ** 2,
    defaultText: "16MB",
  }),
  connections: integerSetting({
    placeholder: "N",
    help: "Connections open at once; further ones are closed.",
    min: 1,
    max: 65_535,
    defaultValue: 4096,
  }),
  queue: integerSetting({
    placeholder: "N",
    help: "Prompts that may wait for a slot; a request that finds no room for its own gets a 503.",
    min: 1,
    max: 1_000_000,
    defaultValue: 8192,
  }),
  timeout: secondsSetting({
    placeholder: "SECONDS",
    help: "Longest time that one request may take; a request can ask for less in a header.",
    min: 1,
    max: 86_400,
    defaultValue: 600,
  }),
  drain: secondsSetting({
    placeholder: "SECONDS",
    help: "How long running requests may go on after the server was told to stop.",
    min: 0,
    max: 3600,
    defaultValue: 10,
  }),
  metrics: choiceSetting({
    choices: ["on", "open", "off"],
    help:
      "Whether there is `GET /metrics`, for Prometheus. on: yes, with a key where keys are in use. " +
      "open: yes, without one.",
    defaultValue: "on",
  }),
} as const;
