/** Parts of choices become the chunks of a stream, by the rules for usage and obfuscation. */
import type { CompletionPart } from "../completion/completion-run.ts";
import type { StreamOptions } from "../contract/completion-request.ts";
import type { CompletionChunk, Usage } from "../contract/responses.ts";
import { writeChunk } from "../contract/write-json.ts";
import { randomBase62 } from "./identifiers.ts";

/** What all chunks of an answer share. */
export interface Envelope {
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  readonly model: string;
  readonly system_fingerprint: string;
}

/** With obfuscation a chunk is as long as the next multiple of this. */
const evenedBytes = 128;

export class ChunkWriter {
  readonly #envelope: Envelope;
  readonly #options: StreamOptions;

  constructor(envelope: Envelope, options: StreamOptions) {
    this.#envelope = envelope;
    this.#options = options;
  }

  /** The JSON of a part's chunk; undefined when the part is not shown. */
  write(part: CompletionPart): string | undefined {
    const { includeUsage, continuousUsageStats } = this.#options;
    switch (part.kind) {
      case "admitted":
        return undefined;
      case "choice": {
        const usage = continuousUsageStats ? part.usage : includeUsage ? null : undefined;
        return this.#chunk([part.choice], usage);
      }
      case "usage":
        // Some clients crash on a chunk without choices that they have not asked for.
        return includeUsage ? this.#chunk([], part.usage) : undefined;
    }
  }

  #chunk(choices: CompletionChunk["choices"], usage: Usage | null | undefined): string {
    const { id, created, model, system_fingerprint } = this.#envelope;
    const chunk: CompletionChunk = {
      id,
      object: "text_completion",
      created,
      choices,
      model,
      system_fingerprint,
      ...(usage === undefined ? {} : { usage }),
    };
    return this.#options.includeObfuscation ? obfuscated(chunk) : writeChunk(chunk);
  }
}

function obfuscated(chunk: CompletionChunk): string {
  const bytes = Buffer.byteLength(writeChunk({ ...chunk, obfuscation: "" }));
  const padding = evenedBytes - (bytes % evenedBytes);
  return writeChunk({ ...chunk, obfuscation: randomBase62(padding) });
}
