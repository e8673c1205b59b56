import { open } from 'node:fs/promises';
import pino from 'pino';
import { LOG_OPTIONS, type Log } from './log.ts';

const MAX_LINES = 1_000;
/** A longer line is cut. */
const MAX_CHARACTERS = 4_000;
/** What is read of the end of a file. */
const MAX_BYTES = 1_000_000;

/** A log that also knows its last lines, as lines of JSON. */
export class RecentLog implements Log {
  readonly #log: Log;
  readonly #file: string | undefined;
  readonly #lines: string[] = [];
  readonly #kept: Log;

  /** @param file where `log` writes, if that is a file, which also has the lines of earlier starts */
  constructor(log: Log, file?: string) {
    this.#log = log;
    this.#file = file;
    this.#kept = pino(LOG_OPTIONS, { write: (line: string) => this.#keep(line) });
  }

  info(details: object, message: string): void {
    this.#log.info(details, message);
    this.#kept.info(details, message);
  }

  warn(details: object, message: string): void {
    this.#log.warn(details, message);
    this.#kept.warn(details, message);
  }

  error(details: object, message: string): void {
    this.#log.error(details, message);
    this.#kept.error(details, message);
  }

  /** Returns the last lines, at most 1,000. Those of this start, if the file cannot be read. */
  async lines(): Promise<string[]> {
    if (this.#file === undefined) return this.#lines;
    try {
      return (await lastLines(this.#file)).map((line) => line.slice(0, MAX_CHARACTERS));
    } catch (error) {
      this.warn({ error }, 'The file of the log cannot be read.');
      return this.#lines;
    }
  }

  #keep(line: string): void {
    this.#lines.push(line.trimEnd().slice(0, MAX_CHARACTERS));
    if (this.#lines.length > MAX_LINES) this.#lines.shift();
  }
}

async function lastLines(path: string): Promise<string[]> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const start = Math.max(0, size - MAX_BYTES);
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(size - start), position: start });
    const lines = buffer.toString('utf8', 0, bytesRead).split('\n').filter(Boolean);
    // The first one may have begun earlier.
    return lines.slice(start > 0 ? 1 : 0).slice(-MAX_LINES);
  } finally {
    await file.close();
  }
}
