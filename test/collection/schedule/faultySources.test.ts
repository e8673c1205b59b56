import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ManualClock } from '../../support/manualClock.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeAlteredNodes, temporaryFolder } from '../../support/node.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';

const MINUTE = 60_000;
let dataFolder: string;
let web: ScriptedWeb;
let node: CollectingNode;
let ids: string[];

/** Opens an archive with three sources. The row of the second was damaged by `sql` while no node had it open. */
async function openDamaged(sql: string, { clock }: { clock?: ManualClock } = {}): Promise<void> {
  const config = { dataFolder, ...(clock && { clock }) };
  const before = await openCollectingNode({}, config);
  ids = [];
  for (const path of ['/a', '/b', '/c']) {
    web.script(path, page(path));
    ids.push((await before.watch(web.url(path), { tags: ['tag'], headers: { 'X-Own': '1' } })).id);
  }
  await before.node.close();
  const database = new Database(join(dataFolder, 'strongroom.db'));
  database.exec(`UPDATE sources SET ${sql} WHERE id = '${ids[1]}'`);
  database.close();
  node = await openCollectingNode({}, { ...config, collect: clock !== undefined });
}

/** Waits until the schedule has checked each source this many times. */
async function untilChecked(times: number): Promise<void> {
  const counts = async () => {
    const [first, faulty, third] = await Promise.all(ids.map((id) => node.source(id)));
    return [first?.recent_checks.length, faulty?.consecutive_failures, third?.recent_checks.length];
  };
  await expect.poll(counts).toEqual([times, times, times]);
}

beforeEach(async () => {
  dataFolder = join(await temporaryFolder(), 'data');
  web = await ScriptedWeb.open();
});
afterEach(async () => {
  await closeAlteredNodes();
  await closeScriptedWebs();
});

const INVALID_URLS = ['javascript:alert(1)', 'no address at all', 'file:///etc/passwd', 'http://', ''];
const DAMAGES: [string, string, string][] = [
  ...INVALID_URLS.map((url): [string, string, string] => [
    `the URL ${JSON.stringify(url)}`,
    `url = '${url}'`,
    'invalid_url',
  ]),
  ['tags that are not JSON', `tags = '[broken'`, 'check_failed'],
  ['headers that are not JSON', `headers = '{'`, 'check_failed'],
  ['noise rules that are not JSON', `noise_rules = 'x'`, 'check_failed'],
  ['an invalid header name', `headers = '{"a b": "c"}'`, 'connection_reset'],
];

describe('a faulty source does not fail the round', () => {
  test.each(DAMAGES)('%s', async (_title, sql, error) => {
    await openDamaged(sql);
    expect(await node.check()).toMatchObject({ checked: 3, changed: 2, failed: 1, events: [1, 2] });
    expect(await node.check()).toMatchObject({ checked: 3, unchanged: 2, failed: 1 });
    const { ok, failing } = await node.status();
    expect(ok).toBe(true);
    expect(failing).toMatchObject([{ source: { id: ids[1] }, error, consecutive: 2 }]);
    expect((await node.read<{ total: number }>('/api/sources')).total).toBe(3);
    expect((await node.source(ids[1] ?? '')).last_error).toBe(error);
    // Also if it is the only source of the round.
    expect(await node.check([ids[1] ?? ''])).toMatchObject({ checked: 1, failed: 1 });
  });

  test('a scheduled round completes, and the faulty source waits for its next check like the others', async () => {
    const clock = new ManualClock();
    await openDamaged(
      `tags = '{', url = 'mailto:x@example.org', next_check_at = '2000-01-01T00:00:00.000Z'`,
      { clock },
    );
    // The faulty source is overdue, and the others are due soon enough to join its round. The clock stands still.
    await untilChecked(1);
    const wait = Date.parse((await node.source(ids[1] ?? '')).next_check_at ?? '') - clock.now();
    expect(wait).toBeGreaterThanOrEqual(57 * MINUTE);
    expect(wait).toBeLessThanOrEqual(60 * MINUTE);
    await clock.jump(64 * MINUTE);
    await untilChecked(2);
  });

  test('the owner can repair a damaged field', async () => {
    await openDamaged(`tags = '[broken'`);
    await node.node.sendJson('PATCH', `/manage/sources/${ids[1]}`, { tags: ['new'] });
    expect(await node.check()).toMatchObject({ checked: 3, failed: 0 });
  });
});
