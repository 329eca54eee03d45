/** Links, addresses and options that pages name, against what there is. */
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { keyOf, settingNames, variableOf } from "../../src/config/settings.ts";
import { exists, type Page, pagePaths, readPage, withoutCode } from "./support/pages.ts";

const pages = pagePaths.map(readPage);

const knownOptions = new Set(["config", "help", "version", ...settingNames.map(keyOf)]);
const knownVariables = new Set(["COMPLETIONIST_CONFIG", ...settingNames.map(variableOf)]);

/** Hosts that exist, or that are set aside for examples. */
const knownHosts = new Set(["127.0.0.1", "localhost", "example.org", "huggingface.co"]);

test.each(pages)("links of $path lead somewhere", (page) => {
  const broken = linksOf(page).filter((target) => !leadsSomewhere(page, target));
  expect(broken).toEqual([]);
});

test.each(pages)("$path names no host that may not exist", ({ text }) => {
  const hosts = [...text.matchAll(/\bhttps?:\/\/([\w.-]+)/g)].map((match) => match[1] ?? "");
  expect(hosts.filter((host) => !knownHosts.has(host) && !host.endsWith(".example"))).toEqual([]);
});

test.each(pages)("commands in $path have the options that $path gives them", ({ text }) => {
  const lines = text.replaceAll("\\\n", " ").split("\n");
  const commands = lines.filter((line) => /\b(npm start --|completionist serve)\s/.test(line));
  const options = commands.flatMap((line) => [...line.matchAll(/\s--([a-z][\w-]*)/g)]);
  const unknown = options.map((match) => match[1] ?? "").filter((name) => !knownOptions.has(name));
  expect(unknown).toEqual([]);
});

test.each(pages)("$path names variables that there are", ({ text }) => {
  const named = [...text.matchAll(/\bCOMPLETIONIST_[A-Z_]*[A-Z]\b/g)].map(([name]) => name);
  expect(named.filter((name) => !knownVariables.has(name))).toEqual([]);
});

const linksOf = ({ text }: Page): string[] =>
  [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] ?? "");

function leadsSomewhere(page: Page, target: string): boolean {
  if (/^https?:/.test(target)) return true;
  const [path = "", anchor] = target.split("#");
  const file = path === "" ? page.path : join(dirname(page.path), path).replaceAll("\\", "/");
  if (!exists(file)) return false;
  return anchor === undefined || anchorsOf(readPage(file)).has(decodeURIComponent(anchor));
}

/** As GitHub makes them: lower case, no punctuation, dashes for spaces. */
function anchorsOf({ text }: Page): Set<string> {
  const headings = [...withoutCode(text).matchAll(/^#+ (.*)$/gm)].map((match) => match[1] ?? "");
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}_\s-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}
