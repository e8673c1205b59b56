import { access, open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, expect, test } from 'vitest';
import { problemOf, sampleRecord, uploadNewPack } from '../support/archive/packs.ts';
import { closeAlteredNodes, openTestNode, type TestNode } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';
import { audit } from './support.ts';

afterEach(closeAlteredNodes);

/** Creates a closed archive with a pack; returns the pack's id. */
async function archive(): Promise<{ folder: string; id: string }> {
  const node = await openTestNode();
  const { id } = await uploadNewPack(node, sampleRecord(), { 'a.txt': 'first' });
  await node.close();
  return { folder: node.dataFolder, id };
}

/** Overwrites the pages of a table or an index with random bytes, as a failing disk may. */
async function spoil(folder: string, ...names: string[]): Promise<void> {
  const file = join(folder, 'strongroom.db');
  const database = new Database(file);
  database.pragma('wal_checkpoint(TRUNCATE)');
  const pageSize = Number(database.pragma('page_size', { simple: true }));
  const pages = names.map(
    (name) =>
      database.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').pluck().get(name) as number,
  );
  database.close();
  const handle = await open(file, 'r+');
  for (const page of pages)
    await handle.write(Buffer.alloc(pageSize, 0xa7), 0, pageSize, (page - 1) * pageSize);
  await handle.close();
}

/** Damages the database while a node has the folder open. */
async function nodeWithSpoilt(...names: string[]): Promise<{ node: TestNode; id: string }> {
  const { folder, id } = await archive();
  const node = await openTestNode({ dataFolder: folder });
  await spoil(folder, ...names);
  return { node, id };
}

test('strongroom audit reports what SQLite finds, writes nothing and exits with 1', async () => {
  const { folder } = await archive();
  await spoil(folder, 'comments');
  const { code, stderr, stdout } = await runHere(['audit', '--data', folder]);
  expect({ code, stderr }).toMatchObject({ code: 1 });
  expect(stderr).toContain('The database is damaged. Restore an intact copy.');
  expect(stdout).not.toContain('Everything is intact');
  const json = await runHere(['audit', '--data', folder, '--json']);
  expect(json.code).toBe(1);
  const report = JSON.parse(json.stdout) as { ok: boolean; database: { ok: boolean; findings: string[] } };
  expect(report).toMatchObject({ ok: false, recorded: false, database: { ok: false } });
  expect(report.database.findings.length).toBeGreaterThan(0);
});

test('a blob without its row is a finding, and its file stays in place', async () => {
  const { folder } = await archive();
  const database = new Database(join(folder, 'strongroom.db'));
  const sha256 = database.prepare('SELECT sha256 FROM pack_files').pluck().get() as string;
  database.pragma('foreign_keys = OFF');
  const triggers = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").pluck().all();
  for (const name of triggers) database.exec(`DROP TRIGGER ${String(name)}`);
  database.exec('DELETE FROM blobs');
  database.close();
  const { code, stderr } = await runHere(['audit', '--data', folder]);
  expect({ code, stderr }).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('rows missing in blobs that pack_files refers to: 1'),
  });
  await access(join(folder, 'blobs', sha256.slice(0, 2), sha256.slice(2, 4), sha256));
});

test('an audit that the owner starts reports the damage too', async () => {
  const { node } = await nodeWithSpoilt('comments');
  const { database, checked } = await audit(node);
  expect(database.ok).toBe(false);
  expect(database.findings.join()).toMatch(/Tree|page|malformed|btree/i);
  expect(checked).toBe(0);
});

test('verifying a ledger with unreadable rows reports a problem, by HTTP and on the command line', async () => {
  const { node } = await nodeWithSpoilt('ledger');
  const answer = await node.fetch('/api/ledger/verify');
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({ ok: false, problems: [{ problem: 'database_damaged' }] });
  await node.close();
  const { code, stderr } = await runHere(['ledger', 'verify', '--data', node.dataFolder]);
  expect(code).toBe(1);
  expect(stderr).toContain('The database is damaged');
});

test('verifying a pack with unreadable rows reports a failed check', async () => {
  const { node, id } = await nodeWithSpoilt('ledger', 'packs');
  const answer = await node.fetch(`/api/packs/${id}/verify`);
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({ ok: false });
});

test('reading from a damaged page returns database_damaged and says what to do', async () => {
  const { node, id } = await nodeWithSpoilt('packs');
  const report = await problemOf(node.fetch(`/api/packs/${id}`));
  expect(report).toMatchObject({ status: 500, code: 'database_damaged' });
  expect(report.detail).toContain('strongroom audit');
});

test('a node refuses to open an archive with an unreadable ledger and says what to do', async () => {
  const { folder } = await archive();
  await spoil(folder, 'ledger');
  await expect(openTestNode({ dataFolder: folder })).rejects.toThrow(
    /is damaged .* from a backup, or rebuild it .*strongroom rebuild/,
  );
});

test('strongroom audit refuses a file that is not a database', async () => {
  const { folder } = await archive();
  await writeFile(join(folder, 'strongroom.db'), 'This is no database. '.repeat(400));
  const { code, stderr } = await runHere(['audit', '--data', folder]);
  expect(code).toBe(2);
  expect(stderr).toContain('Nothing was changed.');
});
