import { mkdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createLog, type Log } from '../server/runtime/log.ts';

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
