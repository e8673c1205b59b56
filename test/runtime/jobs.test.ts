import { createHash } from 'node:crypto';
import { getEventListeners } from 'node:events';
import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Jobs } from '../../server/runtime/jobs.ts';
import { runInThread } from '../../server/runtime/threads.ts';
import { encryptedAsEarlier } from '../copies/earlierCopy.ts';
import { sha256Of } from '../support/archive/packs.ts';
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

test('a file that no identity opens is closed, though the thread lives on', async () => {
  const folder = await temporaryFolder();
  const [from, to] = [join(folder, 'a.age'), join(folder, 'a.bin')];
  const content = 'quibblesome'.repeat(500_000);
  const identityOf = () => runInThread<string>('runAge', { generate: true });
  await writeFile(from, await encryptedAsEarlier(content, await identityOf()));
  const file = { from, to, sha256: sha256Of(content) };
  expect(await runInThread('runAge', { file, identity: await identityOf() })).toBe(false);
  expect(openFiles().filter((path) => path.startsWith(folder))).toEqual([]);
});

/** The files that this process has open, where the system lists them. */
function openFiles(): string[] {
  if (!existsSync('/proc/self/fd')) return [];
  return readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      return [readlinkSync(`/proc/self/fd/${descriptor}`)];
    } catch {
      // That with which the folder is read is closed by now.
      return [];
    }
  });
}

test('a task that fails or is aborted does not disturb the next one', async () => {
  const file = join(await temporaryFolder(), 'a.txt');
  await writeFile(file, 'text');
  const digest = createHash('sha256').update('text').digest('hex');
  const hashing = () => runInThread('hashFiles', [file]);
  await expect(runInThread('hashFiles', null)).rejects.toThrow("reading 'map'");
  await expect(runInThread('hashFiles', [() => file])).rejects.toThrow('could not be cloned');
  expect(await hashing()).toEqual([digest]);
  const abort = new AbortController();
  const aborted = runInThread('runAge', { encrypt: 'text', passphrase: 'word' }, { signal: abort.signal });
  abort.abort(new Error('cancelled'));
  await expect(aborted).rejects.toThrow('cancelled');
  expect(await Promise.all([hashing(), hashing(), hashing()])).toEqual([[digest], [digest], [digest]]);
});
