import Database from 'better-sqlite3';
import { afterEach, expect, test, vi } from 'vitest';
import { handleStrayErrors, reportUncaught } from '../../server/runtime/background.ts';
import type { Log } from '../../server/runtime/log.ts';
import { ManualClock } from '../support/manualClock.ts';
import { closeTestNodes, openTestNode } from '../support/node.ts';

const DAY_MS = 86_400_000;

/** The methods of all statements, which the tests replace. */
const statements = Object.getPrototypeOf(new Database(':memory:').prepare('SELECT 1')) as Record<
  'all' | 'get' | 'iterate',
  (this: Database.Statement, ...parameters: unknown[]) => unknown
>;
const original = { all: statements.all, get: statements.get, iterate: statements.iterate };

afterEach(async () => {
  mendReads();
  vi.useRealTimers();
  await closeTestNodes();
});

/** Makes every read of this process fail, as a disk does that returns errors. Writes and commits succeed. */
function breakReads(): void {
  for (const name of ['all', 'get', 'iterate'] as const)
    statements[name] = function (...parameters) {
      if (!this.database.readonly || this.source.includes('sqlite_schema'))
        return original[name].apply(this, parameters);
      throw new Database.SqliteError('disk I/O error', 'SQLITE_IOERR_READ');
    };
}

function mendReads(): void {
  Object.assign(statements, original);
}

/** A log that counts its warnings and errors by their messages. */
function countingLog(): { log: Log; counts: Map<string, number> } {
  const counts = new Map<string, number>();
  const count = (_: object, message: string) => void counts.set(message, (counts.get(message) ?? 0) + 1);
  return { log: { info: () => {}, warn: count, error: count }, counts };
}

/** What runs on a schedule, by what it logs when it cannot read the database. */
const SCHEDULED = [
  'A scheduled collection failed',
  'Processing alerts failed.',
  'Stored bytes could not be re-hashed on schedule',
  'The checkpoint could not be sent to the witnesses.',
  'The ledger could not be timestamped.',
  'The mirrors that are due could not be read.',
  'The state of the copies could not be read.',
  'The write counts of a past day could not be deleted. It will be retried.',
];

/** What runs after each commit. */
const AFTER_COMMITS = [
  'Changes could not be summarized',
  'The noise rules could not be applied to new events',
  'The texts of new versions could not be extracted',
];

const ALERT = { name: 'Anything', when: { damaged: true, disk: true }, to: [{ kind: 'desktop' }] };

test('a database error in a timer or a listener is logged, and the node answers and goes on', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const clock = new ManualClock();
  const { log, counts } = countingLog();
  const background = { collect: true, audit: true, derive: true, prove: true, copy: true, follow: true };
  const node = await openTestNode({ ...background, idleMs: 0, peerPollIntervalMs: 60_000, clock, log });
  const added = await node.sendJson('POST', '/manage/alerts', ALERT);
  expect(added.status, await added.clone().text()).toBe(201);
  const change = (days: number) => node.sendJson('PATCH', '/manage/settings', { audit_every_days: days });
  const logged = (messages: readonly string[]) => messages.filter((message) => counts.has(message));
  /** In steps of hours: what runs every few seconds runs once in each. */
  const passDay = async () => {
    for (let step = 0; step < 6; step += 1) {
      await clock.jump(DAY_MS / 6);
      expect((await node.fetch('/api/health')).status).toBe(200);
    }
  };
  for (let round = 1; round <= 2; round += 1) {
    // The second round shows that what failed once goes on.
    counts.clear();
    breakReads();
    expect((await change(round)).status).toBe(200);
    vi.advanceTimersByTime(60_000);
    await passDay();
    await expect.poll(() => logged(SCHEDULED)).toEqual(SCHEDULED);
    await expect.poll(() => logged(AFTER_COMMITS)).toEqual(AFTER_COMMITS);
    mendReads();
    await passDay();
  }
  await passDay();
  counts.clear();
  expect((await change(3)).status).toBe(200);
  vi.advanceTimersByTime(60_000);
  await passDay();
  expect([...counts.keys()]).toEqual([]);
});

test('the last handlers log a lost rejection and go on, and end the process in order after a throw', async () => {
  const before = (['unhandledRejection', 'uncaughtException'] as const).map((name) => {
    const listeners = process.listeners(name as 'exit');
    process.removeAllListeners(name);
    return () => {
      for (const listener of listeners) process.on(name, listener as () => void);
    };
  });
  const { log, counts } = countingLog();
  let ends = 0;
  const stop = handleStrayErrors({
    log: (details, message) => log.error(details, message),
    end: () => (ends += 1),
  });
  try {
    reportUncaught(new Error('Nobody waits for this.'));
    await expect.poll(() => counts.size).toBe(1);
    expect(ends).toBe(0);
    const thrown = process.listeners('uncaughtException').at(-1);
    thrown?.(new Error('A listener failed.'), 'uncaughtException');
    thrown?.(new Error('Another one failed.'), 'uncaughtException');
    expect(counts.size).toBe(2);
    expect(ends).toBe(1);
  } finally {
    stop();
    for (const restore of before) restore();
  }
});
