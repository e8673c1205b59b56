import { createHash } from 'node:crypto';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { retrievalLeaf, storedRetrievalLeaf } from '../../../server/collection/record/coverRetrievals.ts';
import { fingerprintOf } from '../../../server/ledger/entry.ts';
import { rootFromInclusion } from '../../../server/ledger/prove.ts';
import { retrievalsAfter } from '../../../server/store/sqlite/collection/retrievalBatches.ts';
import { retrievalById } from '../../../server/store/sqlite/collection/retrievals.ts';
import { openForReading } from '../../../server/store/sqlite/engine/open.ts';
import type { RetrievalProof } from '../../../shared/collection/retrieval.ts';
import type { LedgerEntry } from '../../../shared/ledger/ledger.ts';
import { canonicalText } from '../../../shared/values/canonicalJson.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeAlteredNodes, temporaryFolder } from '../../support/node.ts';
import { runHere } from '../../support/runHere.ts';
import { response } from '../../support/warcFiles.ts';
import { imported } from '../captures/support.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';
import { alter, problems } from './alteredArchive.ts';

let dataFolder: string;
let node: CollectingNode;
let source: string;
/** The entries that cover the retrievals of the template, in order. */
let batches: LedgerEntry[];

/** The data folder that each test copies. */
let template: string;

/** Creates an archive of four own retrievals and two captures. */
beforeAll(async () => {
  template = await mkdtemp(join(tmpdir(), 'strongroom-test-'));
  dataFolder = template;
  const web = await ScriptedWeb.open();
  web.script(
    '/page',
    page('1'),
    page('2'),
    page('gone', { status: 404 }),
    page('<title>Page not found</title>'),
  );
  node = await openCollectingNode({}, { dataFolder });
  ({ id: source } = await node.watch(web.url('/page'), { headers: { 'X-Secret': 'hunter2' } }));
  for (let round = 0; round < 4; round += 1) await node.check();
  await imported(
    node,
    Buffer.concat([response('a', { uri: 'http://x.example/' }), response('b', { uri: 'http://y.example/' })]),
    { observer: 'Archive' },
  );
  batches = (await entries()).filter(({ type }) => type === 'retrievals.recorded');
  await node.node.close();
});
afterAll(async () => {
  await closeScriptedWebs();
  await rm(template, { recursive: true });
});

beforeEach(async () => {
  dataFolder = join(await temporaryFolder(), 'data');
  await cp(template, dataFolder, { recursive: true });
});
afterEach(closeAlteredNodes);

async function entries(): Promise<LedgerEntry[]> {
  return (await node.read<{ items: LedgerEntry[] }>('/api/ledger?limit=500')).items;
}

async function reopen(): Promise<void> {
  node = await openCollectingNode({}, { dataFolder });
}

function inHex(base64: string): string {
  return Buffer.from(base64, 'base64').toString('hex');
}

describe('the ledger covers every retrieval', () => {
  beforeEach(reopen);

  test('with an entry at the end of its transaction', async () => {
    expect(batches.map(({ subject }) => subject)).toEqual(['1-1', '2-2', '3-3', '4-4', '5-6']);
    expect(await problems(dataFolder)).toEqual([]);
    const covered = (await node.retrievals(source)).map(({ ledger_entry }) => ledger_entry);
    expect(covered).toEqual(batches.slice(0, 4).map(({ seq }) => seq));
  });

  test('with a digest that can be recomputed from the API', async () => {
    for (const { ledger_entry, ...retrieval } of await node.retrievals(source)) {
      const entry = batches.find(({ seq }) => seq === ledger_entry);
      const root = createHash('sha256')
        .update(`\0${canonicalText(retrieval)}`)
        .digest('hex');
      expect(fingerprintOf({ first: retrieval.id, last: retrieval.id, root })).toBe(entry?.digest);
      expect(retrieval.round).toBe(retrieval.id);
      expect(retrieval.request?.headers).toContainEqual(['x-secret', null]);
    }
  });

  test('and proves one of several retrievals without the others', async () => {
    for (const id of [5, 6]) {
      const proof = await node.read<RetrievalProof>(`/api/retrievals/${id}/proof`);
      const { retrieval, leaf, ledger_entry, first, last, root, hashes } = proof;
      expect(retrieval).toMatchObject({
        id,
        observer: 'Archive',
        round: null,
        capture: { record_id: expect.any(String) },
      });
      expect(inHex(leaf)).toBe(
        createHash('sha256')
          .update(`\0${canonicalText(retrieval)}`)
          .digest('hex'),
      );
      const entry = batches.find(({ seq }) => seq === ledger_entry);
      expect(fingerprintOf({ first, last, root })).toBe(entry?.digest);
      const path = hashes.map((hash) => Buffer.from(hash, 'base64'));
      const computed = rootFromInclusion(Buffer.from(leaf, 'base64'), id - first, last - first + 1, path);
      expect(computed?.toString('hex')).toBe(root);
    }
    for (const id of ['7', '0', 'x', '1e3'])
      expect((await node.node.fetch(`/api/retrievals/${id}/proof`)).status, id).toBe(404);
  });

  test('storedRetrievalLeaf equals the leaf of the canonical record', async () => {
    await node.node.close();
    const database = openForReading(join(dataFolder, 'strongroom.db'));
    const rows = [...retrievalsAfter(database, 0)];
    expect(rows).toHaveLength(6);
    for (const row of rows) {
      const record = retrievalById(database, row.id);
      expect(storedRetrievalLeaf(row)).toEqual(record && retrievalLeaf(record));
    }
    database.close();
  });
});

/** The altered column, and the SQL that alters it. */
const CHANGED_COLUMNS: [string, string][] = [
  ['source_key', 'source_key = 2'],
  ['round', 'round = 1'],
  ['url', "url = 'http://forged.example/'"],
  ['final_url', "final_url = 'http://forged.example/'"],
  ['redirects', `redirects = '[{"status":301,"url":"http://forged.example/"}]'`],
  ['redirects (invalid JSON)', "redirects = '['"],
  ['observer', "observer = 'Archive'"],
  ['observed_at', "observed_at = '2020-01-01T00:00:00.000Z'"],
  ['original_observed_at', "original_observed_at = '2020-01-01T00:00:00.000Z'"],
  ['status', 'status = 404'],
  ['error', "error = 'http_error'"],
  ['content_type', 'content_type = NULL'],
  ['headers', `headers = '[]'`],
  ['request', `request = replace(request, 'GET', 'PUT')`],
  ['request (removed)', 'request = NULL'],
  ['sha256', 'sha256 = (SELECT sha256 FROM retrievals WHERE id = 1)'],
  ['bytes', 'bytes = 7'],
  ['duration_ms', 'duration_ms = duration_ms + 1'],
  ['page_label', `page_label = '{"label":"bot_wall","reason":"forged"}'`],
];

describe('verification reports a retrieval', () => {
  test('whose source, address, response, request, object, label or any other column was changed', async () => {
    // One retrieval for each column, and the first, which stays as it was.
    const web = await ScriptedWeb.open();
    web.script(
      '/page',
      ...Array.from({ length: CHANGED_COLUMNS.length + 1 }, (_, n) => page(`version ${n}`)),
    );
    const many = await openCollectingNode();
    const { id } = await many.watch(web.url('/page'));
    await many.watch(web.url('/other'));
    for (let check = 0; check <= CHANGED_COLUMNS.length; check += 1) await many.check([id]);
    const altered = (await many.retrievals(id)).slice(1).map((retrieval, index) => {
      const [column = '', set = ''] = CHANGED_COLUMNS[index] ?? [];
      return { column, set, id: retrieval.id, seq: retrieval.ledger_entry };
    });
    const folder = many.node.dataFolder;
    await many.node.close();
    expect(await problems(folder)).toEqual([]);
    alter(folder, altered.map((each) => `UPDATE retrievals SET ${each.set} WHERE id = ${each.id}`).join(';'));
    const found = await problems(folder);
    for (const { column, ...each } of altered)
      expect(
        found.filter(({ seq }) => seq === each.seq),
        column,
      ).toMatchObject([{ problem: 'wrong_digest', subject: `retrieval ${each.id}` }]);
    expect(found).toHaveLength(CHANGED_COLUMNS.length);
  });

  test.each([
    ['changed', "UPDATE captures SET record_id = 'urn:forged' WHERE retrieval = 6"],
    ['deleted', 'DELETE FROM captures WHERE retrieval = 6'],
    ['inserted', "INSERT INTO captures VALUES (3, 'urn:forged', NULL)"],
  ])('whose capture was %s', async (change, sql) => {
    alter(dataFolder, sql);
    await reopen();
    const id = change === 'inserted' ? 3 : 6;
    expect((await problems(dataFolder)).map(({ subject }) => subject)).toEqual([`retrieval ${id}`]);
  });

  test.each([3, 6])('%d that was deleted, and its id is not reused', async (id) => {
    alter(dataFolder, `DELETE FROM retrievals WHERE id = ${id}`);
    await reopen();
    const missing = [expect.objectContaining({ problem: 'missing_subject', subject: `retrieval ${id}` })];
    expect(await problems(dataFolder)).toEqual(missing);
    await node.check([source]);
    expect((await node.retrievals(source)).at(-1)?.id).toBe(7);
    expect(await problems(dataFolder)).toEqual(missing);
  });

  test('that was inserted', async () => {
    alter(
      dataFolder,
      `INSERT INTO retrievals SELECT 7, source_key, round, url, final_url, redirects, observer, observed_at,
      original_observed_at, status, error, content_type, headers, sha256, bytes, duration_ms, page_label, request, connection, NULL
      FROM retrievals WHERE id = 1`,
    );
    const { code, stderr } = await runHere(['ledger', 'verify', '--data', dataFolder]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('No entry (retrieval 7): missing entry')]);
    await reopen();
    await node.check([source]);
    expect(
      (await node.retrievals(source)).map(({ id, ledger_entry }) => [id, ledger_entry !== null]),
    ).toEqual([
      [1, true],
      [2, true],
      [3, true],
      [4, true],
      [7, false],
      [8, true],
    ]);
    expect((await problems(dataFolder)).map(({ seq, problem, subject }) => [seq, problem, subject])).toEqual([
      [0, 'missing_entry', 'retrieval 7'],
    ]);
  });

  test('or its batch, if the stored leaf was altered with it', async () => {
    const seq = batches[4]?.seq;
    alter(
      dataFolder,
      `UPDATE retrievals SET status = 404 WHERE id = 6; UPDATE retrieval_leaves SET leaf =
      x'${'00'.repeat(32)}' WHERE retrieval = 6`,
    );
    alter(dataFolder, `UPDATE retrieval_leaves SET leaf = x'${leafNow(6)}' WHERE retrieval = 6`);
    expect(await problems(dataFolder)).toEqual([
      expect.objectContaining({ seq, problem: 'wrong_root', subject: '5-6' }),
      expect.objectContaining({ seq, problem: 'wrong_digest', subject: '5-6' }),
    ]);
  });

  test.each([
    [
      'deleted with its leaf',
      'DELETE FROM retrievals WHERE id = 6; DELETE FROM retrieval_leaves WHERE retrieval = 6',
    ],
    ['removed from its batch', 'UPDATE retrieval_batches SET last = 5 WHERE first = 5'],
    [
      'in a batch with another root',
      `UPDATE retrieval_batches SET root = '${'0'.repeat(64)}' WHERE first = 5`,
    ],
    ['in a deleted batch', 'DELETE FROM retrieval_batches WHERE first = 5'],
    ['whose leaf was deleted', 'DELETE FROM retrieval_leaves WHERE retrieval = 6'],
    [
      'in a batch that covers all later ids',
      `UPDATE retrieval_batches SET last = ${Number.MAX_SAFE_INTEGER} WHERE first = 5`,
    ],
  ])('%s', async (_what, sql) => {
    alter(dataFolder, sql);
    expect((await problems(dataFolder)).length).toBeGreaterThan(0);
  });

  function leafNow(id: number): string {
    const database = openForReading(join(dataFolder, 'strongroom.db'));
    const [row] = retrievalsAfter(database, id - 1);
    database.close();
    return row ? storedRetrievalLeaf(row).toString('hex') : '';
  }
});

test.each(['retrieval_batches', 'retrieval_leaves'])('%s is append-only', (table) => {
  const database = new Database(join(dataFolder, 'strongroom.db'));
  for (const sql of [
    `UPDATE ${table} SET rowid = 9`,
    `DELETE FROM ${table}`,
    `INSERT OR REPLACE INTO ${table} SELECT * FROM ${table} LIMIT 1`,
  ])
    expect(() => database.exec(sql)).toThrow('append-only');
  database.close();
});
