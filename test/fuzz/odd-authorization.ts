/** Authorization headers: mostly the right key, else what is nearly one, or nothing like it. */
import type { Random } from "./random.ts";

type Header = readonly [name: string, value: string];

export function authorization(random: Random, secret: string): readonly Header[] {
  const bearer: Header = ["authorization", `Bearer ${secret}`];
  if (random.chance(0.8)) return [bearer];
  switch (random.integer(10)) {
    case 0:
      return [];
    case 1: // of two, the first counts
      return [["authorization", `Bearer ${oddKey(random, secret)}`], bearer];
    case 2:
      return [["authorization", `${random.pick(schemes)} ${secret}`]];
    case 3:
      return [["Authorization", `Bearer${random.pick(["", " ", "\t", "  ", ":", "="])}${secret}`]];
    case 4: // as much as a header may hold, and more
      return [["authorization", `Bearer ${"k".repeat(random.between(1_000, 20_000))}`]];
    case 5:
      return [["authorization", `Bearer ${secret} ${secret}`]];
    case 6:
      return [["x-api-key", secret]];
    case 7:
      return [["authorization", random.pick(["", " ", "Bearer", "bearer ", "\xff\xfe", ",", "="])]];
    default:
      return [["authorization", `Bearer ${oddKey(random, secret)}`]];
  }
}

const schemes = [
  "bearer",
  "BEARER",
  "Basic",
  "Digest",
  "Token",
  "Bearer Bearer",
  "sk",
  "AWS4",
  "\xe9",
];

function oddKey(random: Random, secret: string): string {
  const at = random.integer(secret.length);
  switch (random.integer(7)) {
    case 0: // one character is another
      return `${secret.slice(0, at)}~${secret.slice(at + 1)}`;
    case 1:
      return secret.slice(0, at);
    case 2:
      return secret + secret;
    case 3:
      return secret.toUpperCase();
    case 4:
      return random.pick(["' or 1=1 --", "%00", "../../etc", "null", "undefined", "sk-"]);
    case 5:
      return Buffer.from(
        random.list(random.between(1, 60), () => random.between(0xa0, 0xff)),
      ).toString("latin1");
    default:
      return `sk-${"x".repeat(random.between(1, 200))}`;
  }
}
