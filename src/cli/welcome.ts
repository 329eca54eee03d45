/** What the server says when it is ready: where it is, a request to paste, how to stop it. */
import { isIPv6 } from "node:net";
import { shellWord } from "./shell-word.ts";

export interface Welcome {
  readonly host: string;
  readonly port: number;
  readonly basePath: string;
  readonly model: string;
  readonly needsKey: boolean;
}

/** Address of the API as this machine reaches it. */
export function apiUrl(welcome: Pick<Welcome, "host" | "port" | "basePath">): string {
  const { host, port, basePath } = welcome;
  return `http://${reachableHost(host)}:${port}${basePath}/v1`;
}

/** "Every address" is no address to send a request to. */
function reachableHost(host: string): string {
  const plain = host.replace(/^\[|\]$/g, "");
  if (plain === "0.0.0.0") return "127.0.0.1";
  if (plain === "::") return "[::1]";
  return isIPv6(plain) ? `[${plain}]` : plain;
}

/** A command line for a POSIX shell. With keys, YOUR_KEY has to be replaced. */
export function curlLine(welcome: Welcome): string {
  const body = JSON.stringify({
    model: welcome.model,
    prompt: "Once upon a time",
    max_tokens: 32,
  });
  const parts = ["curl", shellWord(`${apiUrl(welcome)}/completions`)];
  if (welcome.needsKey) parts.push("-H", shellWord("Authorization: Bearer YOUR_KEY"));
  parts.push("-H", shellWord("Content-Type: application/json"), "-d", shellWord(body));
  return parts.join(" ");
}

export function welcomeText(welcome: Welcome): string {
  return [
    `Serving ${welcome.model} on ${apiUrl(welcome)} - try:`,
    `  ${curlLine(welcome)}`,
    welcome.needsKey
      ? "Requests need an API key, in place of YOUR_KEY."
      : "Requests need no API key; `completionist keys create` makes the first one.",
    "Ctrl-C stops the server once running requests have ended.",
  ].join("\n");
}
