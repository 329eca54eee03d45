/** `completionist bench`: progress on standard error, the report on standard output. */
import { runBench } from "../bench/bench.ts";
import { type BenchWords, readBenchOptions } from "../bench/bench-options.ts";
import type { LoadedConfiguration } from "../config/load.ts";
import { signalExitCode, watchStopSignals } from "./stop-signals.ts";
import { packageVersion } from "./version.ts";

/** Resolves with the exit code; missed bars are figures, not failures. */
export async function bench(loaded: LoadedConfiguration, words: BenchWords): Promise<number> {
  const options = readBenchOptions(words);
  const signals = watchStopSignals();
  try {
    const text = await runBench({
      options,
      cache: loaded.configuration.cache,
      version: packageVersion(),
      environment: process.env,
      tell: (line) => process.stderr.write(`${line}\n`),
      signal: signals.stopped,
    });
    process.stdout.write(text);
    return 0;
  } catch (error) {
    if (signals.stopped.aborted) return signalExitCode(signals.signal);
    throw error;
  } finally {
    signals.dispose();
  }
}
