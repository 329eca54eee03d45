/**
 * The conformance suite: every rule of docs/reference/conformance.md against running servers. One
 * file for vitest, so that all sections share the servers; `-t "rule 7"` runs a part of it.
 */
import { afterAll, expect, test } from "vitest";
import { renderPage, sectionCount, sectionOf } from "./support/page.ts";
import { provenRules } from "./support/rule.ts";
import { stopServers } from "./support/servers.ts";
import "./sections/00-every-answer.ts";
import "./sections/00-frames.ts";
import "./sections/01-transport.ts";
import "./sections/02-fields.ts";
import "./sections/02-more-fields.ts";
import "./sections/03-prompts.ts";
import "./sections/04-response.ts";
import "./sections/05-usage.ts";
import "./sections/07-logprobs.ts";
import "./sections/07-tokens.ts";
import "./sections/08-held-text.ts";
import "./sections/08-streams.ts";
import "./sections/09-echo.ts";
import "./sections/10-insertion.ts";
import "./sections/10-reranking.ts";
import "./sections/11-best-of.ts";
import "./sections/12-search.ts";
import "./sections/12-stop.ts";
import "./sections/13-sampling.ts";
import "./sections/13-seeds.ts";
import "./sections/14-context.ts";
import "./sections/15-errors.ts";
import "./sections/15-refusals.ts";
import "./sections/16-extensions.ts";
import "./sections/17-headers.ts";
import "./sections/18-faults.ts";
import "./sections/20-routes.ts";

afterAll(async () => {
  for (const exitCode of await stopServers()) expect(exitCode).toBe(0);
});

test("every section has rules, every rule one number and a proof", () => {
  const ids = provenRules.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  for (const { id, proofs } of provenRules) expect(proofs.length, id).toBeGreaterThan(0);
  const sections = new Set(ids.map(sectionOf));
  expect(sections).toEqual(new Set(Array.from({ length: sectionCount }, (_, number) => number)));
});

test("docs/reference/conformance.md lists exactly these rules and proofs", async () => {
  const page = "../../docs/reference/conformance.md";
  await expect(renderPage(provenRules)).toMatchFileSnapshot(page);
});
