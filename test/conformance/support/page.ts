/** The page docs/reference/conformance.md, written from the rules and the tests that prove them. */
import type { ProvenRule } from "./rule.ts";

const head = `# Conformance

What \`POST /v1/completions\` and the routes around it promise, rule by rule, and the tests that prove
each rule against the server as users start it: with the default model, and with tiny models of
other vocabularies. This page is written from the tests, and a test fails when it differs from them;
\`npx vitest run test/conformance -u\` writes it anew.
`;

const sectionTitles: readonly string[] = [
  "Every answer",
  "Endpoint and transport",
  "Request fields",
  "Prompts",
  "Response",
  "Usage",
  "Finish reason",
  "Logprobs",
  "Streams",
  "Echo",
  "Insertion",
  "n and best_of",
  "Stop",
  "Sampling",
  "Context length",
  "Errors",
  "Unknown parameters and extensions",
  "Headers",
  "Retries and cancelling",
  "Errors inside a stream",
  "Neighbouring routes",
];

export function renderPage(rules: readonly ProvenRule[]): string {
  const ordered = rules.toSorted((left, right) => compareIds(left.id, right.id));
  const sections = sectionTitles.map((title, number) => {
    const own = ordered.filter(({ id }) => sectionOf(id) === number);
    return `## ${number}. ${title}\n\n${own.map(renderRule).join("\n")}`;
  });
  return `${head}\n${sections.join("\n")}`;
}

export const sectionCount = sectionTitles.length;

export const sectionOf = (id: string): number => Number(id.split(".")[0]);

function renderRule({ id, words, file, proofs }: ProvenRule): string {
  const tests = proofs.map((title) => `- ${title}`).join("\n");
  return `**${id}** ${words}\n\n${tests}\n\n\`${file}\`\n`;
}

function compareIds(left: string, right: string): number {
  const [leftSection = 0, leftNumber = 0] = left.split(".").map(Number);
  const [rightSection = 0, rightNumber = 0] = right.split(".").map(Number);
  return leftSection - rightSection || leftNumber - rightNumber;
}
