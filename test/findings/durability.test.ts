import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import Database from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Case } from '../../shared/findings/case.ts';
import type { Finding } from '../../shared/findings/finding.ts';
import { problemOf, uploadNewPack } from '../support/archive/packs.ts';
import { end, serveNode } from '../support/cli.ts';
import { closeAlteredNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';
import { addFinding, createCase, findings, verifiedLedger, withdraw } from './support.ts';

afterEach(closeAlteredNodes);

interface Filled {
  current: Finding;
  shown: Case;
}

/** Adds a finding with an earlier version, a withdrawn one, and a case. */
async function fill(node: TestNode): Promise<Filled> {
  const { id, files } = await uploadNewPack(node, undefined, { 'a.csv': 'a\n1\n' });
  const target = { kind: 'pack' as const, id };
  const passage = { sha256: files[0]?.sha256, exact: 'a', start: 0, end: 1 };
  const first = await addFinding(node, target, { text: 'First', tags: ['old'] });
  const fields = { text: 'Zweite Fassung', tags: ['new', 'ä'], passage, supersedes: first.id };
  const current = await addFinding(node, target, fields);
  await withdraw(node, await addFinding(node, target, { text: 'Wrong' }), 'Misread');
  const items = [
    { kind: 'finding' as const, id: current.id, note: 'First' },
    { kind: 'pack' as const, id },
  ];
  return { current, shown: await createCase(node, 'A case', items) };
}

/** A data folder that is filled once, and copied for each test. */
let template: string;
let inTemplate: Filled;

beforeAll(async () => {
  template = await mkdtemp(join(tmpdir(), 'strongroom-test-'));
  const node = await openTestNode({ dataFolder: join(template, 'data') });
  inTemplate = await fill(node);
  await node.close();
});
afterAll(() => rm(template, { recursive: true, force: true }));

async function openFilled(): Promise<{ node: TestNode; filled: Filled }> {
  const dataFolder = join(await temporaryFolder(), 'data');
  await cp(join(template, 'data'), dataFolder, { recursive: true });
  return { node: await openTestNode({ dataFolder }), filled: { ...inTemplate } };
}

/** What a reader sees of findings and cases, also by search. */
async function expectAll(node: TestNode, { current, shown }: Filled): Promise<void> {
  for (const query of ['', 'q=fassung', 'tag=new', `object=${current.passage?.sha256}`])
    expect((await findings(node, query)).items, query).toEqual([current]);
  expect((await findings(node, 'state=all')).total).toBe(4);
  expect((await findings(node, 'tag=old')).total).toBe(0);
  expect(await (await node.fetch(`/api/cases/${shown.id}`)).json()).toEqual(shown);
  expect(await verifiedLedger(node)).toMatchObject({ ok: true });
}

describe('findings and cases are kept', () => {
  test('by a restored dump, whose ledger covers each finding', async () => {
    const { node, filled } = await openFilled();
    const folder = await temporaryFolder();
    const dump = join(folder, 'dump.jsonl');
    await writeFile(dump, await (await node.fetch('/api/dump.jsonl')).text());
    expect((await runHere(['verify', dump])).code).toBe(0);
    const restored = join(folder, 'restored');
    expect((await runHere(['import', dump, '--data', restored])).code).toBe(0);
    await expectAll(await openTestNode({ dataFolder: restored }), filled);
  });

  test('by a database rebuilt from a dump', async () => {
    const { node, filled } = await openFilled();
    const dump = await (await node.fetch('/api/dump.jsonl')).text();
    await node.close();
    const folder = join(await temporaryFolder(), 'data');
    await cp(node.dataFolder, folder, {
      recursive: true,
      filter: (path) => !/strongroom\.db|lock|endpoint/.test(path),
    });
    await writeFile(join(folder, 'dump.jsonl'), dump);
    const { code, stdout, stderr } = await runHere(['rebuild', folder]);
    expect(code, stdout + stderr).toBe(0);
    await expectAll(await openTestNode({ dataFolder: folder }), filled);
  });

  test('by a copy, from which an archive is restored that reads as before and refuses changes of cases', async () => {
    const { node, filled } = await openFilled();
    const place = join(await temporaryFolder(), 'copy');
    const added = await node.sendJson('POST', '/manage/copies', { target: pathToFileURL(place).href });
    const { id } = (await added.json()) as { id: string };
    const synced = await node.fetchAsOwner(`/manage/copies/${id}/sync?wait=true`, { method: 'POST' });
    expect(synced.status).toBe(200);
    // No ledger entry records this change, and the next sync sends it all the same.
    const change = { revision: filled.shown.revision, title: 'A case, renamed' };
    const renamed = await node.sendJson('PATCH', `/manage/cases/${filled.shown.id}`, change);
    filled.shown = (await renamed.json()) as Case;
    await node.fetchAsOwner(`/manage/copies/${id}/sync?wait=true`, { method: 'POST' });
    expect((await runHere(['verify', pathToFileURL(place).href])).code).toBe(0);
    const folder = join(await temporaryFolder(), 'restored');
    const { code, stderr } = await runHere(['restore', pathToFileURL(place).href, '--data', folder]);
    expect(code, stderr).toBe(0);
    const restored = await openTestNode({ dataFolder: folder });
    await expectAll(restored, filled);
    const refused = [
      restored.sendJson('POST', '/manage/cases', { title: 'New' }),
      restored.fetchAsOwner(`/manage/cases/${filled.shown.id}`, { method: 'DELETE' }),
      restored.sendJson('POST', '/manage/findings', { target: filled.current.target, text: 'x' }),
    ];
    for (const answer of refused)
      expect(await problemOf(answer)).toMatchObject({ code: 'archive_read_only' });
  });

  test('when the node is killed right after it acknowledged them', async () => {
    const folder = join(await temporaryFolder(), 'data');
    const first = await openTestNode({ dataFolder: folder });
    const { id } = await uploadNewPack(first, undefined, { 'a.csv': 'a\n1\n' });
    await first.close();
    const served = await serveNode(folder);
    const headers = {
      Authorization: `Bearer ${await readFile(join(folder, 'owner-token'), 'utf8')}`,
      'Content-Type': 'application/json',
    };
    const send = async <Body>(path: string, body: object) => {
      const answer = await fetch(new URL(path, served.url), {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      });
      expect(answer.status).toBe(201);
      return (await answer.json()) as Body;
    };
    const target = { kind: 'pack', id };
    const finding = await send<Finding>('/manage/findings', { target, text: 'Kept' });
    const shown = await send<Case>('/manage/cases', { title: 'Kept', items: [target] });
    await end(served, 'SIGKILL');
    const again = await openTestNode({ dataFolder: folder });
    expect((await findings(again, 'q=kept')).items).toEqual([finding]);
    expect(await (await again.fetch(`/api/cases/${shown.id}`)).json()).toEqual(shown);
    expect(await verifiedLedger(again)).toMatchObject({ ok: true });
  });
});

describe('the database', () => {
  test('refuses to change or delete a finding, and `ledger verify` names one that was changed anyway', async () => {
    const { node, filled } = await openFilled();
    const { current } = filled;
    await node.close();
    const database = new Database(join(node.dataFolder, 'strongroom.db'));
    const change = database.prepare('UPDATE findings SET text = ? WHERE id = ?');
    expect(() => change.run('Forged', current.id)).toThrow('never changed');
    expect(() => database.prepare('DELETE FROM findings').run()).toThrow('never changed');
    expect(() =>
      database.prepare('INSERT OR REPLACE INTO findings SELECT * FROM findings WHERE id = ?').run(current.id),
    ).toThrow('append-only');
    database.exec('DROP TRIGGER findings_refuses_update');
    change.run('Forged', current.id);
    database.close();
    expect(await verifiedLedger(await openTestNode({ dataFolder: node.dataFolder }))).toMatchObject({
      ok: false,
      problems: [{ seq: current.ledger_entry, problem: 'wrong_digest', subject: current.id }],
    });
  });

  test('lists 300 findings by reading only a page of them', async () => {
    const node = await openTestNode();
    const { id } = await uploadNewPack(node, undefined, { 'a.csv': 'a\n1\n' });
    const target = { kind: 'pack' as const, id };
    const count = 300;
    for (let at = 0; at < count; at += 100) {
      await Promise.all(
        Array.from({ length: 100 }, (_none, index) =>
          addFinding(node, target, { text: `Finding ${at + index}`, tags: [`tag${index % 10}`] }),
        ),
      );
    }
    const last = await findings(node, `limit=100&offset=${count - 100}`);
    expect(last).toMatchObject({ total: count, items: { length: 100 } });
    expect((await findings(node, 'q=finding&limit=5')).total).toBe(count);
    expect((await findings(node, 'tag=tag3&limit=5')).total).toBe(count / 10);
    const csv = await (await node.fetch('/api/findings?format=csv')).text();
    expect(csv.trim().split('\r\n')).toHaveLength(count + 1);
    const database = new Database(join(node.dataFolder, 'strongroom.db'), { readonly: true });
    const plan = database
      .prepare(
        `EXPLAIN QUERY PLAN SELECT f.id FROM findings f
         WHERE f.ledger_entry IN (SELECT ledger_entry FROM current_findings) ORDER BY f.ledger_entry DESC LIMIT 50`,
      )
      .all() as { detail: string }[];
    database.close();
    expect(plan.map(({ detail }) => detail).join('\n')).not.toContain('TEMP B-TREE');
  });
});
