import { MEGABYTE } from '../../shared/limits.ts';

/** A progress line that is rewritten in place. Writes nothing if the stream is not a terminal. */
export interface Progress {
  /** Adds bytes to the total. */
  found(bytes: number): void;
  /** Adds bytes to those done. */
  read(bytes: number): void;
  /** Removes the line, so that another line can be printed. */
  clear(): void;
}

const UPDATE_INTERVAL_MS = 200;

export function openProgress(stream: NodeJS.WriteStream): Progress {
  let total = 0;
  let done = 0;
  let updatedAt = 0;
  let isShown = false;
  const isTerminal = stream.isTTY === true;
  return {
    found: (bytes) => {
      total += bytes;
    },
    read: (bytes) => {
      done += bytes;
      const now = performance.now();
      if (!isTerminal || now - updatedAt < UPDATE_INTERVAL_MS) return;
      updatedAt = now;
      isShown = true;
      stream.write(`\r\x1b[K${megabytes(done)} of ${megabytes(total)} MB read`);
    },
    clear: () => {
      if (isShown) stream.write('\r\x1b[K');
      isShown = false;
    },
  };
}

function megabytes(bytes: number): string {
  return (bytes / MEGABYTE).toFixed(1);
}
