/**
 * What a reference page says about fields, limits and errors, in the same form as what the program
 * says about them, so that any two can be compared. Only backticks, numbers and names are read:
 * the words around them may be of any language.
 */
import { errorTable } from "../../../src/contract/errors.ts";
import { type LimitsProfile, limitsProfiles } from "../../../src/contract/limits.ts";
import { openApiDocument } from "../../../src/contract/openapi.ts";
import { codeSpans, type Page, tableRows } from "./pages.ts";

/** By what is described, such as `field n`: aspects, such as `default`, and what they are. */
export type Facts = ReadonlyMap<string, Readonly<Record<string, string>>>;

export function pageFacts(page: Page): Facts {
  const facts = new Map<string, Record<string, string>>();
  for (const table of ["fields", "extensions"]) {
    for (const [name = "", type = "", range = "", fallback = ""] of tableRows(page, table)) {
      const [openai = "", extended = ""] = range.split("`extended`");
      facts.set(`field ${codeSpans(name)[0]}`, {
        table,
        type: sorted(codeSpans(type)),
        range: sorted(codeSpans(openai)),
        "extended range": sorted(codeSpans(extended)),
        default: codeSpans(fallback)[0] ?? "",
      });
    }
  }
  for (const [name = "", openai = "", extended = ""] of tableRows(page, "limits")) {
    facts.set(`limit ${codeSpans(name)[0]}`, {
      openai: codeSpans(openai)[0] ?? "",
      extended: codeSpans(extended)[0] ?? "",
    });
  }
  for (const [name = "", status = "", type = "", param = "", code = ""] of tableRows(
    page,
    "errors",
  )) {
    const [typeName, paramName, codeName] = [type, param, code].map((cell) => codeSpans(cell)[0]);
    facts.set(`error ${codeSpans(name)[0]}`, errorFacts(status, typeName, paramName, codeName));
  }
  return facts;
}

export function programFacts(): Facts {
  const [openai, extended] = [requestProperties("openai"), requestProperties("extended")];
  const facts = new Map<string, Record<string, string>>();
  for (const [name, schema] of openai) {
    const range = sorted(ranges(name, schema, "openai"));
    const wider = sorted(ranges(name, extended.get(name) ?? {}, "extended"));
    facts.set(`field ${name}`, {
      type: sorted(types(schema)),
      range,
      "extended range": wider === range ? "" : wider,
      default: JSON.stringify(schema.default ?? null),
    });
  }
  for (const [name, key] of limitNames) {
    facts.set(`limit ${name}`, {
      openai: String(limitsProfiles.openai[key]),
      extended: String(limitsProfiles.extended[key]),
    });
  }
  for (const [name, { status, type, param, code }] of Object.entries(errorTable)) {
    facts.set(
      `error ${name}`,
      errorFacts(
        String(status),
        type.replace("{limitType}", "TYPE"),
        param?.replace("{param}", "FIELD"),
        code,
      ),
    );
  }
  return facts;
}

/** One sentence for each difference; aspects that only one side knows are left out. */
export function differences(left: Facts, right: Facts): string[] {
  const found: string[] = [];
  for (const name of new Set([...left.keys(), ...right.keys()])) {
    const [one, other] = [left.get(name), right.get(name)];
    if (one === undefined || other === undefined) {
      found.push(`${name}: only on the ${one === undefined ? "right" : "left"}`);
      continue;
    }
    for (const [aspect, value] of Object.entries(one)) {
      const expected = other[aspect];
      if (expected === undefined || expected === value) continue;
      found.push(`${name}: ${aspect} is '${value}' on the left, '${expected}' on the right`);
    }
  }
  return found;
}

const limitNames = [
  ["logprobs", "logprobsMax"],
  ["stop", "stopStringsMax"],
  ["n", "nMax"],
  ["best_of", "bestOfMax"],
  ["candidates", "candidatesMax"],
  ["logit_bias", "logitBiasEntriesMax"],
  ["stop_token_ids", "stopTokensMax"],
] as const;

interface Schema {
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}

/** Fields of the request, those of `stream_options` with a dot. */
function requestProperties(profile: LimitsProfile): Map<string, Schema> {
  const limits = limitsProfiles[profile];
  const document = openApiDocument({ limits, version: "0.0.0", basePath: "" });
  const { schemas } = document.components as { schemas: Record<string, Schema> };
  const properties = new Map<string, Schema>();
  for (const [name, schema] of Object.entries(schemas.CreateCompletionRequest?.properties ?? {})) {
    properties.set(name, schema);
    for (const branch of schema.anyOf ?? [schema]) {
      for (const [inner, innerSchema] of Object.entries(branch.properties ?? {})) {
        properties.set(`${name}.${inner}`, innerSchema);
      }
    }
  }
  return properties;
}

function types({ anyOf, type, items }: Schema): string[] {
  if (anyOf !== undefined) return [...new Set(anyOf.flatMap(types))];
  if (type === "array") return types(items ?? {}).map((name) => `${name}[]`);
  return typeof type === "string" ? [type] : [...(type ?? [])];
}

function ranges(name: string, schema: Schema, profile: LimitsProfile): string[] {
  const own = schemaRanges(schema);
  // The number of entries is checked by hand; a schema of keys has no word for it.
  if (name === "logit_bias") own.push(`<= ${limitsProfiles[profile].logitBiasEntriesMax}`);
  return [...new Set(own)];
}

function schemaRanges(schema: Schema): string[] {
  const { anyOf, items, additionalProperties, minItems, maxItems } = schema;
  const inner = [...(anyOf ?? []), items, additionalProperties].filter((one) => one !== undefined);
  return [
    ...bounds(schema),
    ...bounds({ minimum: minItems, maximum: maxItems }),
    ...inner.flatMap(schemaRanges),
  ];
}

function bounds(range: {
  readonly minimum?: number | undefined;
  readonly exclusiveMinimum?: number | undefined;
  readonly maximum?: number | undefined;
}): string[] {
  const { minimum, exclusiveMinimum, maximum } = range;
  if (minimum !== undefined && maximum !== undefined) return [`${minimum}..${maximum}`];
  return [
    ...(minimum === undefined ? [] : [`>= ${minimum}`]),
    ...(exclusiveMinimum === undefined ? [] : [`> ${exclusiveMinimum}`]),
    ...(maximum === undefined ? [] : [`<= ${maximum}`]),
  ];
}

function errorFacts(
  status: string,
  type: string | undefined,
  param: string | null | undefined,
  code: string | null | undefined,
): Record<string, string> {
  return { status, type: type ?? "", param: param ?? "null", code: code ?? "null" };
}

const sorted = (values: readonly string[]): string => values.toSorted().join(" ");
