import { afterEach, expect, test } from 'vitest';
import { OutgoingError, type OutgoingRequest } from '../../server/ledger/outgoing.ts';
import { createLog } from '../../server/runtime/log.ts';
import { openSettings } from '../../server/store/settings.ts';
import { openStore, type Store } from '../../server/store/store.ts';
import { UpdateCheck } from '../../server/updates/updates.ts';
import { ManualClock } from '../support/manualClock.ts';
import { temporaryFolder } from '../support/node.ts';

const HOUR = 3_600_000;
const URL_ = 'https://releases.example/strongroom.json';
let store: Store | undefined;
afterEach(async () => {
  await store?.close();
});

async function openCheck(answer: () => { status: number; text: string }) {
  const clock = new ManualClock();
  const opened = await openStore({ folder: await temporaryFolder(), clock });
  store = opened;
  const settings = openSettings(opened);
  const requests: OutgoingRequest[] = [];
  const open = () =>
    new UpdateCheck({
      store: opened,
      settings,
      log: createLog('silent'),
      version: '0.9.10',
      post: async (request) => {
        requests.push(request);
        const { status, text } = answer();
        if (status === 0) throw new OutgoingError('The server did not answer.');
        return { status, contentType: 'application/json', body: Buffer.from(text) };
      },
    });
  return { clock, settings, requests, open };
}

test('nothing is fetched until an address is set; then once a day at most, also after a restart', async () => {
  const file = JSON.stringify({ version: '0.10.0', url: 'https://releases.example/', more: [] });
  const { clock, settings, requests, open } = await openCheck(() => ({ status: 200, text: file }));
  await open().checkIfDue();
  expect(requests).toEqual([]);
  await settings.change({ update_url: URL_ });
  await open().checkIfDue();
  await clock.turn(23 * HOUR);
  await open().checkIfDue();
  expect(requests.map(({ url, body, maxBytes }) => ({ url, body, maxBytes }))).toEqual([
    { url: URL_, body: undefined, maxBytes: 65_536 },
  ]);
  expect(await open().read()).toMatchObject({
    version: '0.9.10',
    newest: '0.10.0',
    is_newer: true,
    url: 'https://releases.example/',
    error: null,
  });
  await clock.turn(2 * HOUR);
  await open().checkIfDue();
  expect(requests).toHaveLength(2);
  await settings.change({ update_url: '' });
  expect(await open().read()).toMatchObject({ newest: null, is_newer: false, checked_at: null });
});

test.each([
  [200, '{"version":"0.9.10"}', { is_newer: false, error: null }],
  [200, '{"version":"0.9.9"}', { is_newer: false, error: null }],
  [200, '{"version":"1.0.0","url":"javascript:alert(1)"}', { newest: null, error: expect.any(String) }],
  [200, '<html>', { newest: null, error: 'The file does not name a version.' }],
  [404, '', { newest: null, error: 'The server answered 404.' }],
  [0, '', { newest: null, error: 'The server did not answer.' }],
])('an answer %i %j says what it is worth, and counts for its day', async (status, text, expected) => {
  const { settings, requests, open } = await openCheck(() => ({ status, text }));
  await settings.change({ update_url: URL_ });
  await open().checkIfDue();
  await open().checkIfDue();
  expect(requests).toHaveLength(1);
  expect(await open().read()).toMatchObject(expected);
});
