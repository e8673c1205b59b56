import { MEGABYTE } from '../../shared/limits.ts';

/** A line of progress that is rewritten in place; silent where nobody looks on. */
export interface Progress {
  /** So many bytes more were found to do. */
  found(bytes: number): void;
  /** So many bytes more were done. */
  read(bytes: number): void;
  /** Takes the line away, before another is printed. */
  clear(): void;
}

/** The line is rewritten at most this often. */
const EVERY_MS = 200;

export function openProgress(stream: NodeJS.WriteStream): Progress {
  let total = 0;
  let done = 0;
  let told = 0;
  const isSeen = stream.isTTY === true;
  return {
    found: (bytes) => {
      total += bytes;
    },
    read: (bytes) => {
      done += bytes;
      const now = performance.now();
      if (!isSeen || now - told < EVERY_MS) return;
      told = now;
      stream.write(`\r\x1b[K${megabytes(done)} of ${megabytes(total)} MB read`);
    },
    clear: () => {
      if (isSeen) stream.write('\r\x1b[K');
    },
  };
}

function megabytes(bytes: number): string {
  return (bytes / MEGABYTE).toFixed(1);
}
