import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ManualClock } from '../../support/manualClock.ts';
import { closeTestNodes, temporaryFolder } from '../../support/node.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/scriptedWeb.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';

let dataFolder: string;
let web: ScriptedWeb;
let node: CollectingNode;
let ids: string[];

/** An archive of three sources; the second is damaged while no node has it open. */
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

async function failuresOf(id = ''): Promise<number> {
  return (await node.source(id)).consecutive_failures;
}

beforeEach(async () => {
  dataFolder = join(await temporaryFolder(), 'data');
  web = await ScriptedWeb.open();
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const INVALID_URLS = ['javascript:alert(1)', 'no address at all', 'file:///etc/passwd', 'http://', ''];
const DAMAGES: [string, string, string][] = [
  ...INVALID_URLS.map((url): [string, string, string] => [
    `an address that is ${JSON.stringify(url)}`,
    `url = '${url}'`,
    'invalid_url',
  ]),
  ['tags that are no JSON', `tags = '[broken'`, 'check_failed'],
  ['headers that are no JSON', `headers = '{'`, 'check_failed'],
  ['rules that are no JSON', `noise_rules = 'x'`, 'check_failed'],
  ['a header that no request can have', `headers = '{"a b": "c"}'`, 'connection_reset'],
];

describe('one source’s fault never fails a round:', () => {
  test.each(DAMAGES)('%s', async (_title, sql, error) => {
    await openDamaged(sql);
    expect(await node.check()).toMatchObject({ checked: 3, changed: 2, failed: 1, events: [1, 2] });
    expect(await node.check()).toMatchObject({ checked: 3, unchanged: 2, failed: 1 });
    const { ok, failing } = await node.status();
    expect(ok).toBe(true);
    expect(failing).toMatchObject([{ source: { id: ids[1] }, error, consecutive: 2 }]);
    expect((await node.read<{ total: number }>('/api/sources')).total).toBe(3);
    expect((await node.source(ids[1] ?? '')).last_error).toBe(error);
    // By its name alone, too.
    expect(await node.check([ids[1] ?? ''])).toMatchObject({ checked: 1, failed: 1 });
  });

  test('a round on schedule is over too, and such a source waits for its next turn as others do', async () => {
    const clock = new ManualClock();
    await openDamaged(
      `tags = '{', url = 'mailto:x@example.org', next_check_at = '2000-01-01T00:00:00.000Z'`,
      {
        clock,
      },
    );
    for (let waited = 0; waited < 10 || (await failuresOf(ids[1])) < 1; waited += 1) await clock.turn(60_000);
    await Promise.all([web.asked('/a'), web.asked('/c')]);
    for (let waited = 0; waited < 10; waited += 1) await clock.turn(60_000);
    expect(await failuresOf(ids[1])).toBe(1);
    expect(Date.parse((await node.source(ids[1] ?? '')).next_check_at ?? '')).toBeGreaterThan(clock.now());
  });

  test('what is damaged can be said anew', async () => {
    await openDamaged(`tags = '[broken'`);
    await node.node.sendJson('PATCH', `/manage/sources/${ids[1]}`, { tags: ['new'] });
    expect(await node.check()).toMatchObject({ checked: 3, failed: 0 });
  });
});
