import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Stats } from '../../../../shared/collection/collection.ts';
import type { FoundText, ObjectText } from '../../../../shared/collection/derived.ts';
import { eventually } from '../../../support/eventually.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../../support/network/scriptedWeb.ts';
import { closeTestNodes, DERIVING, openTestNode } from '../../../support/node.ts';
import { CollectingNode, openCollectingNode } from '../../support.ts';
import { sha256 } from '../support.ts';

/** Derived documents may be deleted at any time; they can be derived again from the evidence. */

const BODY = '<p>the wombat';
const PICTURE = 'GIF89a';

let node: CollectingNode;

beforeEach(async () => {
  const web = await ScriptedWeb.open();
  node = await openCollectingNode({}, DERIVING);
  web.script('/page', page(BODY));
  web.script('/picture', page(PICTURE, { headers: { 'Content-Type': 'image/gif' } }));
  await node.watch(web.url('/page'));
  await node.watch(web.url('/picture'));
  await node.check();
  await untilFound();
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

async function untilFound(): Promise<FoundText> {
  return eventually(async () => {
    const { items } = await node.read<{ items: FoundText[] }>('/api/search?q=wombat');
    expect(items).toHaveLength(1);
    return items[0] as FoundText;
  });
}

function readDocuments<Row>(sql: string): Row[] {
  const database = new Database(join(node.node.dataFolder, 'strongroom.db'), { readonly: true });
  try {
    return database.prepare<[], Row>(sql).all();
  } finally {
    database.close();
  }
}

/** Closes the node, runs SQL on its database and opens it again. */
async function reopenAfter(...statements: string[]): Promise<void> {
  const { dataFolder } = node.node;
  await node.node.close();
  const database = new Database(join(dataFolder, 'strongroom.db'));
  for (const sql of statements) database.exec(sql);
  database.close();
  node = new CollectingNode(await openTestNode({ dataFolder, ...DERIVING }));
}

test('derives deleted documents again when the node starts', async () => {
  await reopenAfter(
    'DELETE FROM derived_documents',
    'DELETE FROM document_text',
    'DELETE FROM indexed_texts',
    'DELETE FROM wanted_texts',
  );
  expect((await untilFound()).snippet.text).toBe('the wombat');
  expect((await node.read<Stats>('/api/stats')).derived_documents).toBe(1);
});

test('derives documents made by another tool version again', async () => {
  const before = await untilFound();
  await reopenAfter("UPDATE derived_documents SET tool_version = '0', made_at = '2020-01-01T00:00:00.000Z'");
  await eventually(async () => {
    const { derived } = await untilFound();
    expect(derived.version).toBe(before.derived.version);
    expect(readDocuments("SELECT 1 FROM derived_documents WHERE tool_version = '0'")).toEqual([]);
  });
  expect((await node.read<Stats>('/api/stats')).derived_documents).toBe(1);
});

test('tries an object without text once, not at every start', async () => {
  const outcomes = () =>
    readDocuments<{ outcome: string; made_at: string }>(
      `SELECT outcome, made_at FROM derived_documents WHERE subject = '${sha256(PICTURE)}'`,
    );
  await eventually(() => expect(outcomes()).toHaveLength(1));
  const [kept] = outcomes();
  expect(kept?.outcome).toBe('unsupported');
  await reopenAfter("DELETE FROM derived_documents WHERE outcome = 'made'");
  await untilFound();
  expect((await node.node.fetch(`/archive/${sha256(PICTURE)}/text`)).status).toBe(404);
  expect(outcomes()).toEqual([kept]);
  await eventually(() => expect(readDocuments('SELECT * FROM wanted_texts')).toEqual([]));
});

test('derives nothing from damaged or missing bytes until they are repaired', async () => {
  await reopenAfter(
    'DELETE FROM derived_documents',
    'DELETE FROM document_text',
    'DELETE FROM indexed_texts',
  );
  await untilFound();
  await reopenAfter('DELETE FROM derived_documents');
  const digest = sha256(BODY);
  const file = join(node.node.dataFolder, 'blobs', digest.slice(0, 2), digest.slice(2, 4), digest);
  const bytes = await readFile(file);
  const reasonOf = async () => {
    await reopenAfter('DELETE FROM derived_documents');
    const answer = await node.node.fetch(`/archive/${digest}/text`);
    return answer.status === 200 ? 'made' : ((await answer.json()) as { reason: string }).reason;
  };
  await writeFile(file, '<p>the badger');
  expect(await reasonOf()).toBe('object_damaged');
  await rm(file);
  expect(await reasonOf()).toBe('object_missing');
  await writeFile(file, bytes);
  expect((await node.read<ObjectText>(`/archive/${digest}/text`)).text).toBe('the wombat');
});

test('a dump contains no derived documents', async () => {
  const dump = await (await node.node.fetch('/api/dump.jsonl')).text();
  expect(dump).toContain(sha256(BODY));
  expect(dump).not.toContain('strongroom-html-text');
});
