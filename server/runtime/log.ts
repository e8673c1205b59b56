import { mkdirSync, renameSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import pino from 'pino';

/** The node's log. Never log a token, a body or a visitor's address. */
export interface Log {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

/** Lines of JSON with the time and the stack of an error. */
const LOG_OPTIONS: pino.LoggerOptions = {
  serializers: { error: pino.stdSerializers.err },
  base: null,
  timestamp: pino.stdTimeFunctions.isoTime,
};

const STANDARD_ERROR = 2;
/** Lines that cannot be written are kept up to this size, and written once that is possible again. */
const MAX_KEPT_BYTES = 1_000_000;

/**
 * Creates a log that writes lines of JSON to standard error, because standard output is for the results of commands, or to a
 * file. What logs never fails because of its log: on a full disk, lines wait, and those beyond a limit are lost.
 */
export function createLog(
  level: 'silent' | 'warn' | 'info' = 'info',
  dest: number | string = STANDARD_ERROR,
): Log {
  const destination = pino.destination({ dest, sync: true, maxLength: MAX_KEPT_BYTES });
  // Without a listener, the error would be thrown at what logs, and at the last handler of the process too.
  destination.on('error', () => {});
  return pino({ ...LOG_OPTIONS, level }, destination);
}

const MAX_LINES = 1_000;
/** A longer line is cut. */
const MAX_CHARACTERS = 4_000;
/** What is read of the end of a file. */
const MAX_READ_BYTES = 1_000_000;

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
    const start = Math.max(0, size - MAX_READ_BYTES);
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(size - start), position: start });
    const lines = buffer.toString('utf8', 0, bytesRead).split('\n').filter(Boolean);
    // The first one may have begun earlier.
    return lines.slice(start > 0 ? 1 : 0).slice(-MAX_LINES);
  } finally {
    await file.close();
  }
}

/** A log of this size is renamed at the next start and replaces the previous one. */
const MAX_LOG_BYTES = 5_000_000;

/** The app's log in its folder of logs. */
export function logFileIn(folder: string): string {
  return join(folder, 'strongroom.log');
}

/** Logs to `strongroom.log` as lines of JSON, because the app has no terminal. */
export function openLogFile(folder: string): Log {
  mkdirSync(folder, { recursive: true });
  const file = logFileIn(folder);
  const bytes = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (bytes > MAX_LOG_BYTES) renameSync(file, `${file}.old`);
  return createLog('info', file);
}
