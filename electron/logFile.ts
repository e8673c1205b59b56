import { mkdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import type { NodeConfig } from '../server/config.ts';

/** A log of this size is put aside at the next start, over the one before it. */
const MAX_LOG_BYTES = 5_000_000;

/** Logs lines of JSON to `strongroom.log`: an app without a terminal has nowhere else to tell what went wrong. */
export function openLogFile(folder: string): NonNullable<NodeConfig['log']> {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'strongroom.log');
  const bytes = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (bytes > MAX_LOG_BYTES) renameSync(file, `${file}.old`);
  return pino(
    { base: null, serializers: { error: pino.stdSerializers.err }, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ dest: file, sync: true }),
  );
}
