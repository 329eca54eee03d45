/** Reads Prometheus' text format, as far as tests need it. */

/** Values by name and labels as they are printed, such as `up{model="a"}`. Throws for other text. */
export function readSamples(text: string): ReadonlyMap<string, number> {
  const samples = new Map<string, number>();
  for (const line of text.split("\n")) {
    if (line === "" || line.startsWith("# ")) continue;
    const [, key, value] = /^(\w+(?:\{[^}]*\})?) (\S+)$/.exec(line) ?? [];
    if (key === undefined || Number.isNaN(Number(value))) throw new Error(`no sample: ${line}`);
    if (samples.has(key)) throw new Error(`twice: ${key}`);
    samples.set(key, Number(value));
  }
  return samples;
}
