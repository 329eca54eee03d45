/** What a proof found: figures for people, and what must not be. */

export type Figure = readonly [name: string, value: string | number];

export interface ProofPart {
  readonly title: string;
  readonly figures: readonly Figure[];
  /** Sentences; a proof holds when there are none. */
  readonly violations: readonly string[];
}

const violationsShown = 20;
const violationCharactersMax = 300;

/** Prints a small table, and lets the command fail where something must not be. */
export function printPart({ title, figures, violations }: ProofPart): void {
  const rows: readonly Figure[] = [...figures, ["violations", violations.length]];
  const width = Math.max(...rows.map(([name]) => name.length));
  console.log(title);
  for (const [name, value] of rows) console.log(`  ${name.padEnd(width)}  ${value}`);
  for (const violation of violations.slice(0, violationsShown)) {
    console.log(`    ! ${violation.slice(0, violationCharactersMax)}`);
  }
  if (violations.length > 0) process.exitCode = 1;
}

/** How often each thing occurs, most frequent first, in one line. */
export function tally(things: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const thing of things) counts.set(thing, (counts.get(thing) ?? 0) + 1);
  const sorted = [...counts].toSorted(([, left], [, right]) => right - left);
  return sorted.map(([thing, count]) => `${thing} ${count}`).join(", ") || "none";
}

/** Median, 95th hundredth and largest of some times, in one line. */
export function timesLine(timesMs: readonly number[]): string {
  if (timesMs.length === 0) return "none";
  const sorted = timesMs.toSorted((left, right) => left - right);
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  const ms = (value: number | undefined) => `${Math.round(value ?? 0)} ms`;
  return `median ${ms(at(0.5))}, p95 ${ms(at(0.95))}, longest ${ms(at(1))}`;
}
