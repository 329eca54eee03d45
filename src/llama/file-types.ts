/** The weight types of whole files: the library's numbers and names, and which of them are made here. */

/** The library's number of each file type that is offered. */
const offered = {
  f32: 0,
  f16: 1,
  q4_0: 2,
  q4_1: 3,
  q8_0: 7,
  q5_0: 8,
  q5_1: 9,
  q2_k: 10,
  q3_k_s: 11,
  q3_k_m: 12,
  q3_k_l: 13,
  q4_k_s: 14,
  q4_k_m: 15,
  q5_k_s: 16,
  q5_k_m: 17,
  q6_k: 18,
  iq4_nl: 25,
  iq4_xs: 30,
  bf16: 32,
} as const;

export type FileType = keyof typeof offered;

export const fileTypes: readonly FileType[] = Object.keys(offered) as FileType[];

/** Types that keep too few bits to be made without measuring first which weights matter. */
const importanceTypes = {
  iq2_xxs: 19,
  iq2_xs: 20,
  q2_k_s: 21,
  iq3_xs: 22,
  iq3_xxs: 23,
  iq1_s: 24,
  iq3_s: 26,
  iq3_m: 27,
  iq2_s: 28,
  iq2_m: 29,
  iq1_m: 31,
} as const;

/** Types of files that others make. */
const foreignTypes = { tq1_0: 36, tq2_0: 37, mxfp4: 38 } as const;

/** Short names that are in use. */
const shortNames: Readonly<Record<string, FileType>> = {
  q3_k: "q3_k_m",
  q4_k: "q4_k_m",
  q5_k: "q5_k_m",
};

const namesById: ReadonlyMap<number, string> = new Map(
  Object.entries({ ...offered, ...importanceTypes, ...foreignTypes }).map(([name, id]) => [
    id,
    name.toUpperCase(),
  ]),
);

export function fileTypeId(type: FileType): number {
  return offered[type];
}

/** For people: `Q4_K_M`. Undefined for numbers that are not known here. */
export function fileTypeName(id: number): string | undefined {
  return namesById.get(id);
}

export function isFileType(name: string): name is FileType {
  return Object.hasOwn(offered, name);
}

/** The type of that name in any case, short names included; else one sentence that says why not. */
export function parseFileType(name: string): FileType | { readonly problem: string } {
  const plain = name.trim().toLowerCase().replaceAll("-", "_");
  const type = shortNames[plain] ?? plain;
  if (isFileType(type)) return type;
  const known = fileTypes.join(", ");
  if (Object.hasOwn(importanceTypes, type)) {
    return {
      problem:
        `The weight type ${name} needs an importance matrix, which is not made here; types without: ` +
        `${known}.`,
    };
  }
  return { problem: `There is no weight type ${name}; available: ${known}.` };
}
