/**
 * Continue's own adapters against a server: one completion, one stream that ends, one that is left.
 *   node client.mjs URL MODEL   -> JSON on stdout
 */
import { constructLlmApi } from "@continuedev/openai-adapters";

const [url, model] = process.argv.slice(2);
const api = constructLlmApi({ provider: "openai", apiBase: `${url}/v1/`, apiKey: "none" });
// The stop list that Continue sends for autocompletion: the template's and the common ones.
const stop = [
  "<|endoftext|>",
  "<|fim_prefix|>",
  "<|fim_middle|>",
  "<|fim_suffix|>",
  "<|fim_pad|>",
  "<|repo_name|>",
  "<|file_sep|>",
  "<|im_start|>",
  "<|im_end|>",
  "/src/",
  "#- coding: utf-8",
  "```",
];
const body = { model, prompt: "One, two, three,", max_tokens: 8, temperature: 0, stop };
const never = new AbortController().signal;

const whole = await api.completionNonStream({ ...body, stream: false }, never);
let streamed = "";
for await (const chunk of api.completionStream({ ...body, stream: true }, never)) {
  streamed += chunk.choices[0]?.text ?? "";
}
const leave = new AbortController();
let chunksBeforeAbort = 0;
const long = { ...body, stop: [], max_tokens: 500, stream: true };
try {
  for await (const _ of api.completionStream(long, leave.signal)) {
    chunksBeforeAbort += 1;
    if (chunksBeforeAbort === 3) leave.abort();
  }
} catch (error) {
  if (!leave.signal.aborted) throw error;
}
const text = whole.choices[0]?.text;
console.log(JSON.stringify({ text, streamed, chunksBeforeAbort, usage: whole.usage }));
process.exit(0);
