import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { LedgerVerification } from '../../../shared/ledger/ledger.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeAlteredNodes, temporaryFolder } from '../../support/node.ts';
import { openCollectingNode } from '../support.ts';

let dataFolder: string;

/** Creates an archive of two versions of a source that was renamed, and closes it. */
beforeEach(async () => {
  dataFolder = join(await temporaryFolder(), 'data');
  const web = await ScriptedWeb.open();
  web.script('/page', page('1'), page('2'));
  const node = await openCollectingNode({}, { dataFolder });
  const { id } = await node.watch(web.url('/page'), { name: 'First', tags: ['a'] });
  await node.check();
  await node.check();
  await node.node.sendJson('PATCH', `/manage/sources/${id}`, { name: 'Second' });
  await node.node.close();
});
afterEach(async () => {
  await closeAlteredNodes();
  await closeScriptedWebs();
});

/** Alters the database directly. */
function alter(sql: string): void {
  const database = new Database(join(dataFolder, 'strongroom.db'));
  try {
    database.exec(sql);
  } finally {
    database.close();
  }
}

test.each(['events', 'retrievals', 'source_revisions'])(
  'the database refuses UPDATE, DELETE and REPLACE on %s',
  (table) => {
    const [column] =
      { events: ['observed_at'], retrievals: ['observed_at'], source_revisions: ['record'] }[table] ?? [];
    expect(() => alter(`UPDATE ${table} SET ${column} = '2020'`)).toThrow('append-only');
    expect(() => alter(`DELETE FROM ${table}`)).toThrow('append-only');
    expect(() => alter(`INSERT OR REPLACE INTO ${table} SELECT * FROM ${table} LIMIT 1`)).toThrow(
      'append-only',
    );
  },
);

test('the database refuses an event with an id out of sequence', () => {
  const copy = `INSERT INTO events SELECT 9, source_key, retrieval, event_type, observer, observed_at,
    original_observed_at, sha256, previous_sha256, reverts_to, page_label, 1, NULL FROM events WHERE id = 1`;
  expect(() => alter(copy)).toThrow('an event has the number after the last');
});

const DROP = 'DROP TRIGGER events_refuses_update; DROP TRIGGER source_revisions_refuses_update;';
const tamperings: [string, string, number[]][] = [
  ['a backdated event', "UPDATE events SET observed_at = '2020-01-01T00:00:00.000Z' WHERE id = 2", [4]],
  ['an event with another digest', 'UPDATE events SET sha256 = NULL WHERE id = 1', [2]],
  ['an event with another type', "UPDATE events SET event_type = 'recovered' WHERE id = 2", [4]],
  ['a source with another URL', "UPDATE sources SET url = 'http://elsewhere.example/'", [2, 4, 6]],
  ['a source with another name', "UPDATE sources SET name = 'Third'", [6]],
  ['a source with other tags', `UPDATE sources SET tags = '["b"]'`, [6]],
  [
    'an altered earlier revision of a source',
    "UPDATE source_revisions SET record = replace(record, 'First', 'Zeroth')",
    [1],
  ],
];

test.each(tamperings)('verification finds %s', async (_title, sql, entries) => {
  alter(DROP + sql);
  const node = await openCollectingNode({}, { dataFolder });
  const found = await node.read<LedgerVerification>('/api/ledger/verify');
  expect(found.ok).toBe(false);
  expect(found.problems.map(({ seq, problem }) => [seq, problem])).toEqual(
    entries.map((seq) => [seq, 'wrong_digest']),
  );
});
