/** What a completionist server tells about itself under /metrics, as far as the bench needs it. */
import { BenchError } from "./bench-error.ts";
import { getText } from "./client.ts";

export interface CpuSeconds {
  /** Of the process that speaks HTTP. */
  readonly server: number;
  readonly engine: number;
}

export async function cpuSeconds(url: string, signal: AbortSignal): Promise<CpuSeconds> {
  const text = await metricsOf(url, signal);
  return {
    server: sumOf(text, "process_cpu_seconds_total"),
    engine: sumOf(text, "engine_cpu_seconds_total"),
  };
}

export interface ResidentBytes {
  readonly server: number;
  readonly engine: number;
}

export async function residentBytes(url: string, signal: AbortSignal): Promise<ResidentBytes> {
  const text = await metricsOf(url, signal);
  return {
    server: sumOf(text, "process_resident_memory_bytes"),
    engine: sumOf(text, "engine_resident_memory_bytes"),
  };
}

async function metricsOf(url: string, signal: AbortSignal): Promise<string> {
  const text = await getText(`${url}/metrics`, signal);
  if (text === undefined) throw new BenchError("failed", "the server tells no metrics");
  return text;
}

/** The sum over all labels of a metric, whatever prefix its name has. */
export function sumOf(text: string, name: string): number {
  const pattern = new RegExp(`^(?:completionist_)?${name}(?:\\{[^}]*\\})? (\\S+)`, "gm");
  const values = [...text.matchAll(pattern)].map((match) => Number(match[1]));
  if (values.length === 0) throw new BenchError("failed", `the server has no metric ${name}`);
  return values.reduce((sum, value) => sum + value, 0);
}
