import { existsSync } from 'node:fs';
import { readFile, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createLog } from '../../server/runtime/log.ts';
import { temporaryFolder } from '../support/node.ts';

test.skipIf(!existsSync('/dev/full'))('a log on a full disk never fails what logs', () => {
  const log = createLog('info', '/dev/full');
  for (let line = 0; line < 3; line += 1) log.warn({ line }, 'The disk is full.');
  log.error({ error: new Error('no space') }, 'x'.repeat(2_000_000));
});

test('a log file has one line of JSON for each message, also after it was emptied', async () => {
  const file = join(await temporaryFolder(), 'strongroom.log');
  const log = createLog('info', file);
  log.info({ port: 1 }, 'first');
  await truncate(file);
  log.warn({ error: new Error('no') }, 'second');
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
  expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual(['second']);
});
