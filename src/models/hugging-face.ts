/**
 * Fetches a named model file from Hugging Face into the model folder: `HF_ENDPOINT` and `HF_TOKEN`
 * are honoured, a broken download goes on where it stopped, and the file is checked by its SHA-256
 * where the server tells it.
 */
import { rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { readGgufHeader } from "../llama/gguf-header.ts";
import { partPath, splitNameOf } from "../llama/split-parts.ts";
import { diskProblem, FetchError, SourceError } from "./fetch-error.ts";
import { withModelLock } from "./fetch-model.ts";
import { sha256Of } from "./file-hash.ts";
import { askHead, type DownloadLimits, download } from "./http-download.ts";
import type { FetchContext } from "./model-sources.ts";
import { createReport, type Report } from "./progress.ts";
import { modelFolder } from "./served-model.ts";

export interface HubFile {
  /** `owner/name` */
  readonly repository: string;
  /** Path in the repository; its last part is the name in the model folder. */
  readonly path: string;
  readonly revision: string;
}

export interface PullOptions {
  /** The cache folder; models are in its subfolder `models`. */
  readonly cache: string;
  readonly signal: AbortSignal;
  readonly report?: Report;
  readonly environment?: FetchContext["environment"];
  readonly limits?: Partial<DownloadLimits>;
}

export const huggingFaceDefault = "https://huggingface.co";
const revisionDefault = "main";

/** `OWNER/REPOSITORY/FILE[@REVISION]` or `OWNER/REPOSITORY:FILE[@REVISION]`. Throws a FetchError. */
export function parseHubFile(name: string): HubFile {
  const plain = name.replace(/^hf:(?:\/\/)?/, "");
  const pattern =
    /^(?<owner>[\w.-]+)\/(?<repository>[\w.-]+)[/:](?<path>[^@]+\.gguf)(?:@(?<revision>[\w./-]+))?$/;
  const found = pattern.exec(plain)?.groups;
  const { owner = "", repository = "", path = "", revision = revisionDefault } = found ?? {};
  const steps = [owner, repository, ...path.split("/"), ...revision.split("/")];
  if (found === undefined || steps.some((step) => step === "" || /^\.{1,2}$/.test(step))) {
    throw new FetchError(
      `"${name}" names no model file; expected OWNER/REPOSITORY/FILE.gguf, with @REVISION behind it ` +
        "if wanted",
    );
  }
  return { repository: `${owner}/${repository}`, path, revision };
}

/**
 * Path of the file in the model folder, fetched unless it is there; of a split model all parts, and
 * the path of the first. Throws a FetchError with one line for the user.
 */
export async function pullFromHuggingFace(name: string, options: PullOptions): Promise<string> {
  const wanted = parseHubFile(name);
  const environment = options.environment ?? process.env;
  const context: FetchContext = {
    folder: modelFolder(options.cache),
    report: options.report ?? createReport(),
    signal: options.signal,
    environment,
  };
  const split = splitNameOf(wanted.path);
  const paths =
    split === undefined
      ? [wanted.path]
      : Array.from({ length: split.count }, (_, index) => partPath(split, index + 1));
  const files: string[] = [];
  for (const path of paths) files.push(await pullFile({ ...wanted, path }, context, options));
  const [first = ""] = files;
  readGgufHeader(first);
  return first;
}

async function pullFile(
  file: HubFile,
  context: FetchContext,
  { limits }: PullOptions,
): Promise<string> {
  const fileName = file.path.split("/").at(-1) ?? "";
  const source = sourceOf(file, context, limits);
  try {
    return await withModelLock(fileName, context, async () => {
      const target = join(context.folder, fileName);
      const told = await source.ask();
      if (await isThere(target, told, file)) return target;
      context.report.line(`Fetching ${fileName} from ${source.address}.`);
      const part = `${target}.hub-${told.sha256?.slice(0, 12) ?? "unnamed"}.part`;
      await fill(part, source, told);
      await rename(part, target);
      return target;
    });
  } catch (error) {
    context.signal.throwIfAborted();
    const problem = diskProblem(error, context.folder);
    if (!(problem instanceof SourceError)) throw problem;
    const where = `${file.path} of ${file.repository} at ${file.revision}`;
    throw new FetchError(
      `${where} could not be fetched from ${source.address}: ${problem.message}`,
    );
  }
}

interface ToldFile {
  readonly sha256: string | undefined;
  readonly bytes: number | undefined;
}

interface HubSource {
  /** Of the hub, for people. */
  readonly address: string;
  ask(): Promise<ToldFile>;
  download(partFile: string): Promise<void>;
}

function sourceOf(
  { repository, path, revision }: HubFile,
  { environment, signal, report }: FetchContext,
  limits: Partial<DownloadLimits> | undefined,
): HubSource {
  const address = (environment.HF_ENDPOINT || huggingFaceDefault).replace(/\/+$/, "");
  const quoted = [repository, "resolve", encodeURIComponent(revision), path]
    .map((step, index) => (index === 3 ? step.split("/").map(encodeURIComponent).join("/") : step))
    .join("/");
  const url = `${address}/${quoted}`;
  const token = environment.HF_TOKEN;
  const shared = {
    url,
    signal,
    environment,
    ...(limits === undefined ? {} : { limits }),
    ...(token ? { authorization: `Bearer ${token}` } : {}),
  };
  return {
    address,
    ask: async () => {
      if (!URL.canParse(url)) throw new SourceError("HF_ENDPOINT is no address");
      return toldBy(await askHead(shared), Boolean(token));
    },
    download: async (partFile) => {
      const progress = report.progress("Downloading");
      try {
        await download({
          ...shared,
          partFile,
          onProgress: (bytes, total) => progress.advance(bytes, total),
        });
      } finally {
        progress.end();
      }
    },
  };
}

/** Large files are described in headers of the redirect that leads to them. */
function toldBy(
  { statusCode = 0, headers }: Awaited<ReturnType<typeof askHead>>,
  withToken: boolean,
): ToldFile {
  if (statusCode === 401 || statusCode === 403) {
    const advice = withToken ? "HF_TOKEN gives no access to it" : "it may need a token in HF_TOKEN";
    throw new SourceError(`the server answered ${statusCode}; ${advice}`);
  }
  if (statusCode === 404) throw new SourceError("there is no such file");
  if (statusCode < 200 || statusCode >= 400) {
    throw new SourceError(`the server answered ${statusCode}`);
  }
  const tag = String(headers["x-linked-etag"] ?? headers.etag ?? "").replaceAll(/^W\/|"/g, "");
  const size = Number(headers["x-linked-size"] ?? Number.NaN);
  return {
    sha256: /^[0-9a-f]{64}$/.test(tag) ? tag : undefined,
    bytes: Number.isSafeInteger(size) ? size : undefined,
  };
}

/** Whether the folder has the file already. Throws a FetchError when it has another of that name. */
async function isThere(target: string, told: ToldFile, file: HubFile): Promise<boolean> {
  const stats = await stat(target).catch(() => undefined);
  if (stats === undefined) return false;
  const same =
    told.sha256 === undefined
      ? told.bytes === undefined || told.bytes === stats.size
      : told.sha256 === (await sha256Of(target));
  if (same) return true;
  throw new FetchError(
    `${target} is there already and is not ${file.path} of ${file.repository}; remove it first`,
  );
}

/** Fills the part file and checks it; what an earlier try left may have been of another file. */
async function fill(part: string, source: HubSource, told: ToldFile): Promise<void> {
  const continued = ((await stat(part).catch(() => undefined))?.size ?? 0) > 0;
  await source.download(part);
  const problem = await problemOf(part, told);
  if (problem === undefined) return;
  await rm(part, { force: true });
  if (!continued) throw new SourceError(problem);
  await fill(part, source, told);
}

async function problemOf(part: string, told: ToldFile): Promise<string | undefined> {
  if (told.sha256 !== undefined && (await sha256Of(part)) !== told.sha256) {
    return `what it sent is not the file (its SHA-256 is not ${told.sha256.slice(0, 12)}...)`;
  }
  const { size } = await stat(part);
  if (told.bytes !== undefined && size !== told.bytes) {
    return `it sent ${size} of ${told.bytes} bytes`;
  }
  return undefined;
}
