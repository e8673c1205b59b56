import { getEventListeners } from 'node:events';
import { afterEach, expect, test } from 'vitest';
import { HostBackoffError, HostRateLimiter } from '../../../server/collection/schedule/hostRateLimiter.ts';
import { ManualClock } from '../../support/manualClock.ts';

const LIMITS = { per_host_concurrency: 2, per_host_pause_ms: 1000, collection_concurrency: 32 };
const signal = new AbortController().signal;
let rateLimiter: HostRateLimiter;
/** Reports a delay of the event loop, in milliseconds. */
let reportDelay: (delayMs: number) => void;

afterEach(() => rateLimiter.close());

/** Sends requests that last until `endOldest` is called. `started` lists their hosts. */
function requests(clock: ManualClock, limits = LIMITS) {
  rateLimiter = new HostRateLimiter(
    clock,
    () => limits,
    (report) => {
      reportDelay = report;
      return () => {};
    },
  );
  const started: string[] = [];
  const ends: (() => void)[] = [];
  const send = (host: string, given = signal) =>
    rateLimiter.run(host, given, () => {
      started.push(host);
      return new Promise<void>((end) => {
        ends.push(end);
      });
    });
  return { started, send, endOldest: () => ends.shift()?.() };
}

test('spaces requests to a host and limits their concurrency', async () => {
  const clock = new ManualClock();
  const { started, send, endOldest } = requests(clock);
  const all = [send('a'), send('a'), send('a')];
  await clock.turn(0);
  expect(started).toHaveLength(1);
  await clock.turn(999);
  expect(started).toHaveLength(1);
  await clock.turn(1);
  expect(started).toHaveLength(2);
  await clock.turn(10_000);
  expect(started, 'two are running').toHaveLength(2);
  endOldest();
  await clock.turn(0);
  expect(started).toHaveLength(3);
  endOldest();
  endOldest();
  await Promise.all(all);
});

test('slow hosts do not block other hosts', async () => {
  const clock = new ManualClock();
  const { started, send, endOldest } = requests(clock);
  const hosts = Array.from({ length: 12 }, (_, number) => `host-${number}`);
  const all = hosts.map((host) => send(host));
  await clock.turn(0);
  expect(started, 'the initial limit').toHaveLength(4);
  for (let interval = 0; interval < 4; interval += 1) reportDelay(0);
  await clock.turn(0);
  expect(started, 'the event loop was responsive').toEqual(hosts);
  for (const _ of hosts) endOldest();
  await Promise.all(all);
});

test('hosts share the global limit in turn', async () => {
  const clock = new ManualClock();
  const { started, send, endOldest } = requests(clock, { ...LIMITS, collection_concurrency: 3 });
  const all = ['a', 'a', 'a', 'b', 'c', 'd'].map((host) => send(host));
  await clock.turn(0);
  expect(started).toEqual(['a', 'b', 'c']);
  endOldest();
  await clock.turn(0);
  expect(started).toEqual(['a', 'b', 'c', 'd']);
  while (started.length < all.length) {
    endOldest();
    await clock.turn(1000);
  }
  for (let rest = 0; rest < 3; rest += 1) endOldest();
  await Promise.all(all);
});

test('sends nothing to a paused host until the pause ends', async () => {
  const clock = new ManualClock();
  const { started, send, endOldest } = requests(clock);
  rateLimiter.pauseUntil('a', clock.now() + 30_000);
  const sending = send('a');
  await clock.turn(29_999);
  expect(started).toEqual([]);
  await clock.turn(1);
  expect(started).toEqual(['a']);
  endOldest();
  await sending;
});

test('refuses new and waiting requests to a host that is paused for longer than a round waits', async () => {
  const clock = new ManualClock();
  const { send, endOldest } = requests(clock, { ...LIMITS, per_host_concurrency: 1 });
  const first = send('a');
  const second = send('a');
  await clock.turn(0);
  rateLimiter.pauseUntil('a', clock.now() + 3_600_000);
  endOldest();
  await first;
  await expect(second).rejects.toThrow(HostBackoffError);
  await expect(send('a')).rejects.toMatchObject({ until: clock.now() + 3_600_000 });
});

test('an aborted request does not use a slot', async () => {
  const clock = new ManualClock();
  const { started, send, endOldest } = requests(clock);
  const abort = new AbortController();
  const all = [send('a'), send('a', abort.signal), send('a')];
  abort.abort(new Error('no longer'));
  await expect(all[1]).rejects.toThrow('no longer');
  await clock.turn(1000);
  expect(started).toHaveLength(2);
  endOldest();
  endOldest();
  await Promise.all([all[0], all[2]]);
});

test('thousands of waiting requests share one listener for their signal, and all end when it is aborted', async () => {
  const clock = new ManualClock();
  const { started, send, endOldest } = requests(clock, { ...LIMITS, per_host_pause_ms: 0 });
  const round = new AbortController();
  const all = Array.from({ length: 5_000 }, () => send('a', round.signal));
  const other = send('b');
  expect(getEventListeners(round.signal, 'abort')).toHaveLength(1);
  await clock.turn(0);
  round.abort(new Error('cancelled'));
  endOldest();
  endOldest();
  endOldest();
  const outcomes = await Promise.allSettled(all);
  expect(started).toEqual(['a', 'a', 'b']);
  expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(4_998);
  await other;
  const next = new AbortController();
  const last = send('a', next.signal);
  await clock.turn(0);
  endOldest();
  await last;
  expect(getEventListeners(next.signal, 'abort'), 'a request that has started leaves none').toEqual([]);
});
