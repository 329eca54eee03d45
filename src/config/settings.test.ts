import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { configurationPage } from "./reference-page.ts";
import type { Setting } from "./setting-kinds.ts";
import { keyOf, sections, settingNames, settings, variableOf } from "./settings.ts";

test("names are written in the way of their place", () => {
  expect(keyOf("logLevel")).toBe("log-level");
  expect(variableOf("logLevel")).toBe("COMPLETIONIST_LOG_LEVEL");
});

test("every setting stands in exactly one section of the reference", () => {
  const listed = sections.flatMap((section) => section.names);
  expect(listed.toSorted()).toEqual(settingNames.toSorted());
});

test("every default is a value that its setting accepts, and is explained", () => {
  for (const name of settingNames) {
    const setting: Setting<unknown> = settings[name];
    expect(setting.help.length, name).toBeGreaterThan(10);
    expect(setting.defaultText, name).not.toBe("");
    const value = setting.defaultValue();
    if (value === undefined || name === "insertion") continue;
    expect(setting.schema.safeParse(value).success, name).toBe(true);
  }
});

test("docs/reference/configuration.md is what the table says (write-reference.ts writes it)", () => {
  const page = new URL("../../docs/reference/configuration.md", import.meta.url);
  expect(readFileSync(page, "utf8")).toBe(configurationPage());
});
