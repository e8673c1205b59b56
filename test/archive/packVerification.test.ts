import { execFile } from 'node:child_process';
import { appendFile, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import Database from 'better-sqlite3';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { PackVerification } from '../../shared/archive/pack.ts';
import type { LedgerVerification } from '../../shared/ledger/ledger.ts';
import { uploadNewPack } from '../support/archive/packs.ts';
import { closeAlteredNodes, openTestNode, type TestNode } from '../support/node.ts';

afterEach(closeAlteredNodes);

const verify = async (node: TestNode, id: string) => {
  const response = await node.fetch(`/api/packs/${id}/verify`);
  expect(response.status).toBe(200);
  return (await response.json()) as PackVerification;
};

const verifyLedger = async (node: TestNode) =>
  (await (await node.fetch('/api/ledger/verify')).json()) as LedgerVerification;

const blobFile = (node: TestNode, sha256: string) =>
  join(node.dataFolder, 'blobs', sha256.slice(0, 2), sha256.slice(2, 4), sha256);

/** Changes the database as somebody with access to the file could, bypassing its triggers. */
function tamper(node: TestNode, sql: string): void {
  const database = new Database(join(node.dataFolder, 'strongroom.db'));
  const triggers = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").pluck().all();
  for (const name of triggers) database.exec(`DROP TRIGGER ${String(name)}`);
  database.exec(sql);
  database.close();
}

test('an intact pack passes all checks: fingerprint, files and ledger entry', async () => {
  const node = await openTestNode();
  const large = Buffer.alloc(5_000_000, 'x');
  const pack = await uploadNewPack(
    node,
    { title: 'Intact' },
    { 'b.txt': 'b', 'a.txt': 'a', 'large.bin': large },
  );
  expect(await verify(node, pack.id)).toEqual({
    id: pack.id,
    ok: true,
    checked_at: expect.any(String),
    checks: [
      { check: 'fingerprint', ok: true, expected: pack.digest, actual: pack.digest },
      ...pack.files.map(({ path, sha256 }) => ({
        check: 'blob',
        ok: true,
        expected: sha256,
        actual: sha256,
        path,
      })),
      { check: 'ledger', ok: true, expected: expect.any(String), actual: expect.any(String) },
    ],
  });
});

test.each([
  ['small', 'b'],
  ['large', 'b'.repeat(5_000_000)],
])(
  'reports the path of a %s file that was changed or is missing, with status 200 and ok false',
  async (_size, content) => {
    const node = await openTestNode();
    const { id, files } = await uploadNewPack(node, { title: 'Damaged' }, { 'a.txt': 'a', 'b.txt': content });
    const { sha256 } = files[1] as { sha256: string };
    await appendFile(blobFile(node, sha256), '!');
    const changed = await verify(node, id);
    expect(changed.ok).toBe(false);
    expect(changed.checks.filter(({ ok }) => !ok)).toEqual([
      {
        check: 'blob',
        ok: false,
        expected: sha256,
        actual: expect.stringMatching(/^[0-9a-f]{64}$/),
        path: 'b.txt',
      },
    ]);
    await unlink(blobFile(node, sha256));
    expect((await verify(node, id)).checks.filter(({ ok }) => !ok)).toEqual([
      { check: 'blob', ok: false, expected: sha256, actual: null, path: 'b.txt' },
    ]);
  },
);

test.each([
  [
    'the record',
    "UPDATE pack_records SET record = replace(record, 'Claimed', 'Altered')",
    ['fingerprint', 'ledger'],
  ],
  [
    'a record that is no longer JSON',
    "UPDATE pack_records SET record = 'x' || record",
    ['fingerprint', 'ledger'],
  ],
  [
    'the fingerprint',
    `UPDATE packs SET digest = '${'0'.repeat(64)}' WHERE ledger_entry = 2`,
    ['fingerprint'],
  ],
  ['the time of the entry', "UPDATE ledger SET at = '2020-01-01T00:00:00.000Z' WHERE seq = 2", ['ledger']],
  ['the previous entry', `UPDATE ledger SET hash = '${'0'.repeat(64)}' WHERE seq = 1`, ['ledger']],
])('detects tampering with %s', async (_name, sql, failing) => {
  const node = await openTestNode();
  await uploadNewPack(node, { title: 'Before' });
  const { id } = await uploadNewPack(node, { title: 'Claimed' });
  tamper(node, sql);
  const { ok, checks } = await verify(node, id);
  expect(ok).toBe(false);
  expect(checks.filter((check) => !check.ok).map(({ check }) => check)).toEqual(failing);
});

test('the verification of the ledger recomputes the digests of all types of entries of the archive', async () => {
  const node = await openTestNode();
  await node.sendJson('POST', '/api/nodes', { path: 'ocean', title: 'Ocean' });
  const study = (await (
    await node.sendJson('POST', '/api/studies', { title: 'Tides', node: 'ocean', status: 'running' })
  ).json()) as { id: string };
  await node.sendJson('POST', `/api/studies/${study.id}/status`, { status: 'completed', note: 'Done' });
  const { id } = await uploadNewPack(node, { title: 'Level', study: study.id }, { a: 'a' });
  await node.sendJson('POST', `/api/packs/${id}/flag`, { reason: 'privacy', note: 'Names' });
  await node.sendJson('POST', `/api/items/${id}/comments`, { author: 'Ada', body: 'Which gauge?' });
  expect(await verifyLedger(node)).toMatchObject({ ok: true, size: 6, problems: [] });

  const tamperings: [seq: number, sql: string][] = [
    [1, "UPDATE nodes SET title = 'Sea'"],
    [2, "UPDATE studies SET title = 'Waves'"],
    [3, "UPDATE study_statuses SET note = 'Undone' WHERE ledger_entry = 3"],
    [4, "UPDATE pack_records SET record = replace(record, 'Level', 'Depth')"],
    [5, "UPDATE pack_flags SET reason = 'copyright'"],
    [6, "UPDATE comments SET body = 'Praise'"],
  ];
  for (const [, sql] of tamperings) tamper(node, sql);
  const { ok, problems } = await verifyLedger(node);
  expect(ok).toBe(false);
  expect(problems.map(({ seq, problem }) => [seq, problem])).toEqual(
    tamperings.map(([seq]) => [seq, 'wrong_digest']),
  );
});

test('the database refuses changes to rows that the ledger covers', async () => {
  const node = await openTestNode();
  const { id } = await uploadNewPack(node, {}, { a: 'a' });
  await node.sendJson('POST', `/api/items/${id}/comments`, { author: 'A', body: 'B' });
  const database = new Database(join(node.dataFolder, 'strongroom.db'));
  try {
    for (const sql of [
      "UPDATE pack_records SET record = '{}'",
      'DELETE FROM comments',
      'DELETE FROM ledger',
      'DELETE FROM pack_files',
    ]) {
      expect(() => database.exec(sql), sql).toThrow(/never changed|append-only/);
    }
  } finally {
    database.close();
  }
});

/** Uses only Python's standard library, like somebody who checks a pack without Strongroom. */
const PYTHON = `
import hashlib, json, sys
pack = json.load(open(sys.argv[1], encoding="utf-8"))
for field in ("id", "digest", "tag", "replications", "evidence", "flags", "original_had_method", "ledger_entry"):
    del pack[field]
text = json.dumps(pack, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
print(hashlib.sha256(text.encode("utf-8")).hexdigest())
`;

test('Python’s standard library computes the same fingerprint from the response to GET', async () => {
  const node = await openTestNode();
  const results = JSON.parse(
    '{"__proto__": 1, "constructor": "x", "10": 1, "9": 2, "é": 0.1, "half": -2.5}',
  ) as Record<string, number>;
  const { id, digest } = await uploadNewPack(
    node,
    {
      title: 'Fingerprint “✓” \u0001\u007f',
      summary: 'Ünï 🧪\n\t"\\/',
      results,
      method: { text: 'How', complete: true },
    },
    { 'ä.csv': '1', 'b.csv': '2' },
  );
  const folder = join(node.dataFolder, '..');
  const script = join(folder, 'fingerprint.py');
  const answer = join(folder, 'pack.json');
  await writeFile(script, PYTHON);
  await writeFile(answer, await (await node.fetch(`/api/packs/${id}`)).text());
  const { stdout } = await promisify(execFile)('python3', [script, answer]).catch((cause: unknown) => {
    throw new Error('This test runs python3, which is not on this machine: install it.', { cause });
  });
  expect(stdout.trim()).toBe(digest);
});

/** Changes of rows that repeat what a pack's record says, each of another pack. */
const PACK_CHANGES: [what: string, change: (seq: number) => string, problem?: string][] = [
  ['a pack’s row removed', (seq) => `DELETE FROM packs WHERE ledger_entry = ${seq}`, 'missing_subject'],
  [
    'a pack given another id',
    (seq) => `UPDATE packs SET id = 'pk_00000000000000000000' WHERE ledger_entry = ${seq}`,
  ],
  [
    'a pack with another digest',
    (seq) =>
      `UPDATE packs SET digest = substr(digest, 2) || substr(digest, 1, 1) WHERE ledger_entry = ${seq}`,
  ],
  [
    'another outcome in the lists',
    (seq) => `UPDATE packs SET outcome = 'negative' WHERE ledger_entry = ${seq}`,
  ],
  [
    'another state of what a pack replicates',
    (seq) => `UPDATE packs SET original_had_method = 1 WHERE ledger_entry = ${seq}`,
  ],
  ['another tag', (seq) => `UPDATE packs SET tag = 'replicable' WHERE ledger_entry = ${seq}`],
  ['a pack taken out of its study', (seq) => `UPDATE packs SET study = NULL WHERE ledger_entry = ${seq}`],
  ['another size', (seq) => `UPDATE packs SET bytes = bytes + 1 WHERE ledger_entry = ${seq}`],
  ['a file renamed', (seq) => `UPDATE pack_files SET path = 'c.txt' WHERE path = 'b.txt' AND pack = ${seq}`],
  ['a file removed', (seq) => `DELETE FROM pack_files WHERE path = 'a.txt' AND pack = ${seq}`],
  [
    'a file with another digest',
    (seq) =>
      `UPDATE pack_files SET sha256 = (SELECT sha256 FROM pack_files WHERE path = 'b.txt' AND pack = ${seq}) WHERE pack = ${seq}`,
  ],
];
/** Changes of rows that repeat what a study's entry says, each of another study. */
const STUDY_CHANGES: [what: string, change: (seq: number) => string][] = [
  ['its status', (seq) => `UPDATE studies SET status = 'completed' WHERE ledger_entry = ${seq}`],
  [
    'the note of its first status',
    (seq) => `UPDATE study_statuses SET note = 'backdated' WHERE ledger_entry = ${seq}`,
  ],
  [
    'the time of its first status',
    (seq) => `UPDATE study_statuses SET at = '2020-01-01T00:00:00.000Z' WHERE ledger_entry = ${seq}`,
  ],
];

// One archive with a pack or study for each change, because each verification of a ledger starts a thread.
describe('the verification of the ledger detects', () => {
  const entryOf = new Map<string, number>();
  let found: LedgerVerification;

  beforeAll(async () => {
    const node = await openTestNode();
    const changes: string[] = [];
    const addStudy = async () => {
      const added = await node.sendJson('POST', '/api/studies', { title: 'Tides' });
      return (await added.json()) as { id: string; ledger_entry: number };
    };
    const { id: study } = await addStudy();
    for (const [what, change] of PACK_CHANGES) {
      const files = { 'b.txt': 'b', 'a.txt': 'a' };
      const { ledger_entry } = await uploadNewPack(node, { title: what, study }, files);
      entryOf.set(what, ledger_entry);
      changes.push(change(ledger_entry));
    }
    for (const [what, change] of STUDY_CHANGES) {
      const { id, ledger_entry } = await addStudy();
      await node.sendJson('POST', `/api/studies/${id}/status`, { status: 'running', note: 'n' });
      entryOf.set(what, ledger_entry);
      changes.push(change(ledger_entry));
    }
    expect(await verifyLedger(node)).toMatchObject({ ok: true, problems: [] });
    tamper(node, `PRAGMA foreign_keys = OFF; ${changes.join('; ')}`);
    found = await verifyLedger(node);
    await closeAlteredNodes();
  });

  test.each(PACK_CHANGES)('%s', (what, _change, problem = 'wrong_digest') => {
    expect(found.ok).toBe(false);
    expect(found.problems.filter(({ seq }) => seq === entryOf.get(what))).toMatchObject([{ problem }]);
  });

  test.each(STUDY_CHANGES)('a study with a change in %s', (what) => {
    expect(found.problems.filter(({ seq }) => seq === entryOf.get(what))).toMatchObject([
      { problem: 'wrong_digest' },
    ]);
  });

  test('each of them, and nothing else', () => {
    expect(found.problems.map(({ seq }) => seq)).toEqual([...entryOf.values()]);
  });
});
