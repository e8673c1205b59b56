import { createHash } from 'node:crypto';
import { getEventListeners } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Jobs } from '../../server/runtime/jobs.ts';
import { runInThread } from '../../server/runtime/runInThread.ts';
import { ManualClock } from '../support/manualClock.ts';
import { temporaryFolder } from '../support/node.ts';

test('closing cancels every job, and no other begins', async () => {
  const jobs = new Jobs(new ManualClock(), (digits) => '0'.repeat(digits));
  const { job } = jobs.start('audit', 'bytes', ({ signal }) => {
    return new Promise((_, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
    );
  });
  await jobs.close();
  expect(job.state).toBe('cancelled');
  const start = () => jobs.start('audit', 'bytes', () => Promise.resolve());
  expect(start).toThrow(expect.objectContaining({ code: 'shutting_down' }));
});

test('a task in a thread leaves nothing at the signal', async () => {
  const file = join(await temporaryFolder(), 'a.txt');
  await writeFile(file, 'text');
  const { signal } = new AbortController();
  for (let run = 0; run < 2; run += 1) await runInThread('hashFiles', [file], { signal });
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('a task that fails or is aborted does not disturb the next one', async () => {
  const file = join(await temporaryFolder(), 'a.txt');
  await writeFile(file, 'text');
  const digest = createHash('sha256').update('text').digest('hex');
  const hashing = () => runInThread('hashFiles', [file]);
  await expect(runInThread('hashFiles', null)).rejects.toThrow("reading 'map'");
  expect(await hashing()).toEqual([digest]);
  const abort = new AbortController();
  const aborted = runInThread('runAge', { encrypt: 'text', passphrase: 'word' }, { signal: abort.signal });
  abort.abort(new Error('cancelled'));
  await expect(aborted).rejects.toThrow('cancelled');
  expect(await Promise.all([hashing(), hashing(), hashing()])).toEqual([[digest], [digest], [digest]]);
});
