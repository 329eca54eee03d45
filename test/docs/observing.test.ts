/** The guide about metrics and the dashboard, against the metrics that a server has. */
import { describe, expect, test } from "vitest";
import { type MetricDescription, Metrics } from "../../src/observe/metrics.ts";
import { codeBlocks, codeSpans, readPage, tableRows } from "./support/pages.ts";

const guide = readPage("docs/guides/observing.md");
const dashboard = readPage("docs/guides/grafana-dashboard.json");
const metrics = new Map(new Metrics().list().map((metric) => [metric.name, metric]));

const tables = [
  "request metrics",
  "completion metrics",
  "access metrics",
  "model metrics",
  "engine metrics",
  "process metrics",
];
const rows = tables.flatMap((table) => tableRows(guide, table));

test("the guide lists each metric once, with its kind and its labels", () => {
  const listed = rows.map(([name = "", kind = "", labels = ""]) => ({
    name: codeSpans(name)[0] ?? "",
    type: kind,
    labels: codeSpans(labels),
  }));
  const byName = (left: MetricDescription, right: MetricDescription) =>
    left.name.localeCompare(right.name);
  expect(listed.toSorted(byName)).toEqual([...metrics.values()].toSorted(byName));
});

/** A histogram is asked for by one of three names. */
function known(name: string): boolean {
  if (metrics.has(name)) return metrics.get(name)?.type !== "histogram";
  const histogram = /^(.*)_(?:bucket|sum|count)$/.exec(name)?.[1];
  return metrics.get(histogram ?? "")?.type === "histogram";
}

const namesIn = (text: string): string[] => text.match(/\bcompletionist_\w+/g) ?? [];

interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}

const { panels, templating } = JSON.parse(dashboard.text) as {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly query: { readonly query: string } }[] };
};
const asked = [
  ...panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ where: `the panel ${title}`, query: expr })),
  ),
  ...templating.list.map(({ query }) => ({ where: "a variable", query: query.query })),
  ...codeBlocks(guide)
    .filter(({ language }) => language === "promql")
    .map(({ line, code }) => ({ where: `the guide's line ${line}`, query: code })),
];

describe.each(asked)("the query of $where", ({ query }) => {
  test("names metrics that there are", () => {
    expect(namesIn(query).length).toBeGreaterThan(0);
    expect(namesIn(query).filter((name) => !known(name))).toEqual([]);
  });

  test("groups by labels that its metrics have", () => {
    const labels = new Set(
      namesIn(query).flatMap((name) => {
        const metric = metrics.get(name) ?? metrics.get(name.replace(/_(bucket|sum|count)$/, ""));
        return [...(metric?.labels ?? []), ...(name.endsWith("_bucket") ? ["le"] : [])];
      }),
    );
    const grouped = [...query.matchAll(/\bby \(([^)]*)\)/g)];
    const selected = [...query.matchAll(/[{,]\s*(\w+)\s*[!=]/g)];
    const named = [...grouped, ...selected].flatMap(([, list = ""]) => list.split(/,\s*/));
    expect(named.filter((label) => !labels.has(label))).toEqual([]);
  });
});

test("the dashboard shows every metric", () => {
  const shown = new Set(namesIn(dashboard.text));
  const names = [...metrics.values()].map(({ name, type }) =>
    type === "histogram" ? `${name}_bucket` : name,
  );
  expect(names.filter((name) => !shown.has(name))).toEqual([]);
});
