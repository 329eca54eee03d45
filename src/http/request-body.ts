/** Reads the bodies of requests, each up to its limit, and all that are held at once up to theirs. */
import type { IncomingMessage } from "node:http";
import { ApiError } from "../contract/errors.ts";

export interface BodyLimits {
  readonly bodyBytesMax: number;
  readonly heldBodyBytesMax: number;
}

/** When a client whose body found no room may come again. */
const roomAgainMs = 1000;

export class RequestBodies {
  readonly #limits: BodyLimits;
  readonly #bytesOf = new WeakMap<IncomingMessage, number>();
  #heldBytes = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /**
   * The whole body. It counts as held until `release`: what was read from it lives that long.
   * Rejects with `requestTooLarge`, with `overloaded` when all bodies together are too large, and
   * with `badRequest` when the client stops in the middle.
   */
  read(raw: IncomingMessage): Promise<Buffer> {
    const { bodyBytesMax } = this.#limits;
    const declared = Number(raw.headers["content-length"] ?? 0);
    if (declared > bodyBytesMax) return Promise.reject(tooLarge(bodyBytesMax));
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    const pieces: Buffer[] = [];
    let bytes = 0;
    const take = (piece: Buffer) => {
      bytes += piece.length;
      this.#heldBytes += piece.length;
      this.#bytesOf.set(raw, bytes);
      if (bytes > bodyBytesMax) fail(tooLarge(bodyBytesMax));
      else if (this.#heldBytes > this.#limits.heldBodyBytesMax) fail(noRoom());
      else pieces.push(piece);
    };
    const end = () => {
      stop();
      if (raw.headers["content-length"] !== undefined && declared !== bytes) {
        reject(incomplete());
      } else resolve(Buffer.concat(pieces));
    };
    const fail = (error: unknown) => {
      stop();
      // The rest is read by whoever answers, if at all.
      raw.pause();
      pieces.length = 0;
      this.release(raw);
      reject(error);
    };
    const cut = () => fail(incomplete());
    const stop = () => {
      raw.off("data", take).off("end", end).off("close", cut).off("error", cut);
    };
    raw.on("data", take).on("end", end).on("close", cut).on("error", cut);
    return promise;
  }

  /** The request is answered: its body no longer counts. */
  release(raw: IncomingMessage): void {
    this.#heldBytes -= this.#bytesOf.get(raw) ?? 0;
    this.#bytesOf.delete(raw);
  }
}

const tooLarge = (bytesMax: number): ApiError => new ApiError("requestTooLarge", { bytesMax });

const noRoom = (): ApiError =>
  new ApiError("overloaded", {}, { retry: { shouldRetry: true, retryAfterMs: roomAgainMs } });

const incomplete = (): ApiError =>
  new ApiError("badRequest", { reason: "the body is not as long as its Content-Length says" });
