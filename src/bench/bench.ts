/** The bench from its words to its outputs: finds model and peer, measures row by row, writes. */
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { readGgufHeader } from "../llama/gguf-header.ts";
import { defaultModel } from "../models/default-model.ts";
import { sha256Of } from "../models/file-hash.ts";
import { ensureDefaultModel, localModel, modelFolder } from "../models/served-model.ts";
import { BenchError } from "./bench-error.ts";
import type { BenchOptions } from "./bench-options.ts";
import { chart } from "./chart.ts";
import { machineFacts } from "./machine.ts";
import { findPeer, type Peer, peerFacts, peerVariable } from "./peer.ts";
import { installWheel } from "./peer-wheel.ts";
import { type Report, readReport, withRow, writeReport } from "./report.ts";
import { chooseRows } from "./rows.ts";
import { type RunOptions, runRow } from "./run-row.ts";
import { ServerPool } from "./server-pool.ts";
import { sizesFor } from "./sizes.ts";
import { reportText } from "./tables.ts";

export interface BenchParts {
  readonly options: BenchOptions;
  /** The cache folder. */
  readonly cache: string;
  /** Of completionist. */
  readonly version: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Progress, a line at a time. */
  readonly tell: (line: string) => void;
  readonly signal: AbortSignal;
}

/** The report in Markdown. Throws a BenchError, or what fetching the model throws. */
export async function runBench(parts: BenchParts): Promise<string> {
  const { options, tell, signal } = parts;
  const chosen = chooseRows(options.rows);
  const earlier = options.json === undefined ? undefined : await readReport(options.json);
  const files = await findFiles(parts);
  const peer = await choosePeer(parts);
  let report = await startReport(parts, files, peer, earlier);
  const rows = options.resume
    ? chosen.filter(({ id }) => !report.rows.some((row) => row.id === id))
    : chosen;
  const folder = await mkdtemp(join(tmpdir(), "completionist-bench-"));
  const places = { ...files, peer, cache: parts.cache, folder };
  const pool = new ServerPool(places);
  const run: RunOptions = {
    ...places,
    pool,
    sizes: sizesFor(options.quick),
    rounds: options.rounds,
    requests: options.requests,
    modelBytes: report.model.bytes,
    header: readGgufHeader(files.model),
    tell,
    signal,
  };
  try {
    for (const [index, row] of rows.entries()) {
      tell(`${row.id} (${index + 1} of ${rows.length}): ${row.title}`);
      report = withRow(report, await runRow(row, run));
      if (options.json !== undefined) await writeReport(options.json, report);
    }
  } finally {
    await pool.close();
    await rm(folder, { recursive: true, force: true });
  }
  if (options.svg !== undefined) await writeFile(options.svg, chart(report));
  return reportText(report);
}

interface Files {
  readonly model: string;
  /** The default model as it was fetched, where the default model is measured. */
  readonly fetchedModel: string | undefined;
}

async function findFiles({ options, cache, signal }: BenchParts): Promise<Files> {
  if (options.model !== undefined) {
    return { model: localModel(options.model).path, fetchedModel: undefined };
  }
  const { path } = await ensureDefaultModel({ cache, signal });
  const fetched = join(modelFolder(cache), defaultModel.fileName);
  const isThere = await stat(fetched).then(
    () => true,
    () => false,
  );
  return { model: path, fetchedModel: isThere ? fetched : undefined };
}

async function choosePeer(parts: BenchParts): Promise<Peer | undefined> {
  const { options, cache, environment, tell, signal } = parts;
  if (options.peer === "none") return undefined;
  const { path, install } = options.peer;
  if (install) return installWheel(cache, signal);
  const found = findPeer({ path, environment, cache });
  if (found === undefined) {
    tell(
      `There is no llama-server: name one with --peer or ${peerVariable}, or let --install-peer ` +
        "bring one. Only completionist is measured.",
    );
  }
  return found;
}

/** An empty report, or the earlier one where it is of the same things. */
async function startReport(
  parts: BenchParts,
  files: Files,
  peer: Peer | undefined,
  earlier: Report | undefined,
): Promise<Report> {
  const { size: bytes } = await stat(files.model);
  const fetched = files.fetchedModel;
  const report: Report = {
    format: "completionist-bench-1",
    startedAt: new Date().toISOString(),
    machine: machineFacts(parts.version),
    model: { file: basename(files.model), bytes, sha256: (await sha256Of(files.model)) ?? "" },
    fetchedModel:
      fetched === undefined ? null : { file: basename(fetched), bytes: (await stat(fetched)).size },
    peer: peer === undefined ? null : await peerFacts(peer),
    quick: parts.options.quick,
    rows: [],
  };
  if (earlier === undefined) return report;
  const difference = differenceOf(report, earlier);
  if (difference === undefined) return { ...report, rows: earlier.rows };
  throw new BenchError(
    "usage",
    `--json: the rows in ${parts.options.json} were measured with another ${difference}; name a new file`,
  );
}

/** Figures of different machines, models or peers do not belong into one table. */
export function differenceOf(left: Report, right: Report): string | undefined {
  const facts = (report: Report): readonly (readonly [string, unknown])[] => [
    ["machine", [report.machine.processor, report.machine.cores]],
    ["model", report.model.sha256],
    ["peer", report.peer],
    ["size (--quick)", report.quick],
  ];
  const others = facts(right);
  const found = facts(left).find(
    ([, value], index) => JSON.stringify(value) !== JSON.stringify(others[index]?.[1]),
  );
  return found?.[0];
}
