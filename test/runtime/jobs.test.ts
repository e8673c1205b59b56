import { getEventListeners } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Jobs } from '../../server/runtime/jobs.ts';
import { runWorker } from '../../server/runtime/runWorker.ts';
import { workerUrl } from '../../server/runtime/workerUrl.ts';
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

test('a thread that has ended leaves nothing at the signal', async () => {
  const file = join(await temporaryFolder(), 'a.txt');
  await writeFile(file, 'text');
  const { signal } = new AbortController();
  const url = workerUrl('hashFiles', new URL('../../server/hashing/hashFiles.ts', import.meta.url).href);
  for (let run = 0; run < 2; run += 1) await runWorker(url, { files: [file] }, { signal });
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});
