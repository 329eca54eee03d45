/** `logit_bias`: a JSON object whose keys are token ids. */
import { ApiError } from "./errors.ts";
import { typeError } from "./field-errors.ts";
import type { Limits } from "./limits.ts";
import { shorten } from "./shorten.ts";

const biasMax = 100;

/** Token id to bias. Ids are whole and not negative; whether they exist is checked by others. */
export function parseLogitBias(value: unknown, limits: Limits): ReadonlyMap<number, number> {
  if (value === undefined || value === null) return new Map();
  if (typeof value !== "object" || Array.isArray(value)) {
    throw typeError("logit_bias", "an object", value);
  }
  const entries = Object.entries(value);
  if (entries.length > limits.logitBiasEntriesMax) {
    throw new ApiError("objectAboveMaxProperties", {
      param: "logit_bias",
      limit: limits.logitBiasEntriesMax,
      received: entries.length,
    });
  }
  return new Map(entries.map(([key, bias]) => [tokenId(key), checkedBias(key, bias)]));
}

function tokenId(key: string): number {
  const id = Number(key);
  if (!/^(0|[1-9][0-9]*)$/.test(key) || !Number.isSafeInteger(id)) {
    throw new ApiError("invalidLogitBiasKey", { key: shorten(key) });
  }
  return id;
}

function checkedBias(key: string, bias: unknown): number {
  const param = `logit_bias.${key}`;
  if (typeof bias !== "number") throw typeError(param, "a decimal", bias);
  const limit = bias < 0 ? -biasMax : biasMax;
  if (Math.abs(bias) <= biasMax) return bias;
  throw new ApiError(bias < 0 ? "decimalBelowMin" : "decimalAboveMax", {
    param,
    limit,
    received: shorten(bias),
  });
}
