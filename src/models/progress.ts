/** Tells a person how far a download is: a bar on a terminal, now and then a line elsewhere. */
import { Presets, SingleBar } from "cli-progress";

export interface Progress {
  /** Bytes so far; `total` when it is known. */
  advance(bytes: number, total: number | undefined): void;
  end(): void;
}

export interface Report {
  line(text: string): void;
  progress(label: string): Progress;
}

const megabyte = 1_000_000;
/** Away from a terminal a line is printed at each of these shares. */
const lineShare = 0.25;

export function megabytes(bytes: number): string {
  return `${(bytes / megabyte).toFixed(bytes < 10 * megabyte ? 1 : 0)} MB`;
}

export function createReport(stream: NodeJS.WriteStream = process.stderr): Report {
  const line = (text: string) => {
    stream.write(`${text}\n`);
  };
  return {
    line,
    progress: (label) => (stream.isTTY ? barProgress(label, stream) : lineProgress(label, line)),
  };
}

/** Says nothing. */
export const silentReport: Report = {
  line: () => undefined,
  progress: () => ({ advance: () => undefined, end: () => undefined }),
};

function barProgress(label: string, stream: NodeJS.WriteStream): Progress {
  const bar = new SingleBar(
    {
      stream,
      format: `${label} [{bar}] {percentage}% {done} of {size}`,
      hideCursor: true,
      clearOnComplete: false,
      fps: 5,
    },
    Presets.rect,
  );
  let started = false;
  return {
    advance: (bytes, total) => {
      const size = Math.max(total ?? bytes, 1);
      const texts = {
        done: megabytes(bytes),
        size: total === undefined ? "unknown" : megabytes(total),
      };
      if (!started) bar.start(size, bytes, texts);
      started = true;
      bar.setTotal(size);
      bar.update(bytes, texts);
    },
    end: () => bar.stop(),
  };
}

function lineProgress(label: string, line: (text: string) => void): Progress {
  let nextShare = lineShare;
  return {
    advance: (bytes, total) => {
      if (total === undefined || total === 0) return;
      const share = bytes / total;
      if (share < nextShare) return;
      line(`${label}: ${Math.floor(share * 100)} % of ${megabytes(total)}`);
      while (nextShare <= share) nextShare += lineShare;
    },
    end: () => undefined,
  };
}
