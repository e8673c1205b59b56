import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { CopySchedule } from '../../server/copies/schedule.ts';
import { createLog } from '../../server/runtime/log.ts';
import {
  type MachineReader,
  type NetworkPause,
  readNetworkPause,
} from '../../server/runtime/machineState.ts';
import { allCopies, insertCopy } from '../../server/store/sqlite/node/copies.ts';
import { openStore, type Store } from '../../server/store/store.ts';
import { DEFAULT_SETTINGS } from '../../shared/node/settings.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { temporaryFolder } from '../support/node.ts';

const LOOPBACK = [{ internal: true }];
const OUTSIDE = [{ internal: false }];

/** A Linux machine with a network, on which `busctl` prints this. */
const machine = (output: string, more: Partial<MachineReader> = {}): MachineReader => ({
  platform: 'linux',
  interfaces: () => ({ lo: LOOPBACK, wlan0: OUTSIDE }),
  list: async () => [],
  read: async () => '',
  run: async () => output,
  ...more,
});

describe('the network of this machine', () => {
  test.each([
    ['u 0\n', null],
    ['u 1\n', 'metered'],
    ['u 2\n', null],
    ['u 3\n', 'metered'],
    ['u 4\n', null],
    ['', null],
  ])('is read from NetworkManager: %j', async (output, pause) => {
    expect(await readNetworkPause(machine(output))).toBe(pause);
  });

  test('is asked for once, with the program and the property of NetworkManager', async () => {
    const run = vi.fn(async () => 'u 1');
    await readNetworkPause(machine('', { run }));
    expect(run.mock.calls).toEqual([
      [
        'busctl',
        [
          '--system',
          'get-property',
          'org.freedesktop.NetworkManager',
          '/org/freedesktop/NetworkManager',
          'org.freedesktop.NetworkManager',
          'Metered',
        ],
      ],
    ]);
  });

  test('is missing if there is only loopback', async () => {
    const alone = machine('u 1', { interfaces: () => ({ lo: LOOPBACK, wlan0: undefined }) });
    expect(await readNetworkPause(alone)).toBe('no_network');
    expect(await readNetworkPause(machine('u 1', { interfaces: () => ({}) }))).toBe('no_network');
  });

  test('is not known to be metered without NetworkManager, and on other systems', async () => {
    const run = () => Promise.reject(Object.assign(new Error('spawn busctl ENOENT'), { code: 'ENOENT' }));
    expect(await readNetworkPause(machine('', { run }))).toBe(null);
    expect(await readNetworkPause(machine('u 1', { platform: 'darwin' }))).toBe(null);
  });
});

const idOf = (digit: string) => `cp_${digit.repeat(20)}`;
const [REMOTE, AWS, LOOPBACK_STORE, FOLDER] = ['a', 'b', 'c', 'd'].map(idOf) as [
  string,
  string,
  string,
  string,
];

describe('the schedule of the copies', () => {
  let store: Store;
  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    store = await openStore({ folder: await temporaryFolder(), clock: systemClock });
  });
  afterEach(async () => {
    vi.useRealTimers();
    await store.close();
  });

  test.each(['metered', 'no_network'] as const)(
    'leaves out what needs the network while it is %s, and goes on after it',
    async (why) => {
      await store.write((database) => {
        for (const [id, target, endpoint] of [
          [REMOTE, 's3://bucket/', 'https://s3.example.org'],
          [AWS, 's3://bucket/', null],
          [LOOPBACK_STORE, 's3://bucket/', 'http://127.0.0.1:9000'],
          [FOLDER, 'file:///copy', null],
        ] as const)
          insertCopy(database, {
            id,
            target,
            endpoint,
            region: null,
            every_minutes: 1,
            owner_token: 'f'.repeat(32),
            added_at: '2026-01-01T00:00:00.000Z',
            // Pages that were never written make a copy behind.
            pages: 1,
            public_url: null,
          });
      });
      let pause: NetworkPause = why;
      const synced: string[] = [];
      const schedule = new CopySchedule({
        store,
        log: createLog('silent'),
        settings: () => DEFAULT_SETTINGS,
        networkPause: async () => pause,
        sync: (id) => {
          synced.push(id);
          schedule.syncBegins(id);
          return { finished: Promise.resolve() };
        },
        check: () => ({ finished: Promise.resolve() }),
        drill: () => ({ finished: Promise.resolve() }),
      });
      schedule.start();
      await vi.advanceTimersByTimeAsync(60_000);
      expect(synced.sort()).toEqual([LOOPBACK_STORE, FOLDER]);
      const pauses = () =>
        Object.fromEntries(allCopies(store.read).map((copy) => [copy.id, schedule.pauseOf(copy)]));
      expect(pauses()).toEqual({ [REMOTE]: why, [AWS]: why, [LOOPBACK_STORE]: null, [FOLDER]: null });
      pause = null;
      await vi.advanceTimersByTimeAsync(60_000);
      expect(synced.sort()).toEqual([REMOTE, AWS, LOOPBACK_STORE, FOLDER]);
      expect(Object.values(pauses())).toEqual([null, null, null, null]);
      schedule.close();
    },
  );
});
