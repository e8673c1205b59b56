import { afterEach, expect, test } from 'vitest';
import type { Finding, FindingTarget } from '../../shared/findings/finding.ts';
import { openCollectingNode } from '../collection/support.ts';
import { release, show, withhold } from '../copies/withheldCopies.ts';
import { sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { contentOf, publishedSet } from '../support/archive/sets.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';
import { HTML, seen } from '../withholding/quotes.ts';
import { addFinding, createCase } from './support.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const QUOTE = 'lovelaceada';

/** Quotes words without saying in which of the objects of the target they are. */
const quote = (node: TestNode, target: FindingTarget) =>
  addFinding(node, target, { passage: { exact: QUOTE, sha256: null } });

/** Where a visitor sees the words. Dumps have all records. */
const shown = async (node: TestNode) =>
  (await seen(node, QUOTE)).filter((address) => address !== '/api/dump.jsonl');

async function passageFor(node: TestNode, { id }: Finding, asker: 'owner' | 'visitor'): Promise<unknown> {
  const path = `/api/findings/${id}`;
  const answer = await (asker === 'owner' ? node.fetchAsOwner(path) : node.fetch(path));
  return ((await answer.json()) as Finding).passage;
}

test('a passage that names no object is shown as long as all files of its pack are', async () => {
  const node = await openTestNode();
  const files = { 'a.txt': `Some ${QUOTE} words.`, 'b.txt': 'Others.' };
  const { id } = await uploadNewPack(node, {}, files);
  const finding = await quote(node, { kind: 'pack', id });
  await createCase(node, 'Case', [{ kind: 'finding', id: finding.id }]);
  const sha256 = sha256Of(files['b.txt']);
  await withhold(node, { sha256 });
  expect(await passageFor(node, finding, 'visitor')).toBeNull();
  await withhold(node, { pack: id });
  expect(await shown(node)).toEqual([]);
  expect(await (await node.fetch(`/api/findings/${finding.id}`)).json()).toMatchObject({
    text: 'Noted',
    passage: null,
    withheld: { reason: 'personal_data' },
  });
  expect(await passageFor(node, finding, 'owner')).toMatchObject({ exact: QUOTE });
  await show(node, { pack: id });
  expect(await passageFor(node, finding, 'visitor')).toBeNull();
  await show(node, { sha256 });
  expect(await passageFor(node, finding, 'visitor')).toMatchObject({ exact: QUOTE });
  await release(node, sha256);
  expect(await passageFor(node, finding, 'owner')).toBeNull();
});

test('the same of a set, whose files are in other packs', async () => {
  const node = await openTestNode({ packBytes: 10_000 });
  const large = contentOf(3, 25_000);
  const { manifest } = await publishedSet(node, { 'b.csv': contentOf(2, 5_000), 'large.bin': large });
  const finding = await quote(node, { kind: 'pack', id: manifest.id });
  await withhold(node, { sha256: sha256Of(large) });
  expect(await passageFor(node, finding, 'visitor')).toBeNull();
  expect(await shown(node)).toEqual([]);
});

test('the same of both versions of an event, and of an object', async () => {
  const [web, node] = [await ScriptedWeb.open(), await openCollectingNode()];
  web.script('/', page('First words.', HTML), page('Second words.', HTML));
  await node.watch(web.url('/'));
  await node.check();
  await node.check();
  const [changed] = await node.events();
  const { sha256, previous_sha256 } = changed ?? {};
  const ofEvent = await quote(node.node, { kind: 'event', id: String(changed?.id) });
  const ofObject = await quote(node.node, { kind: 'object', id: String(previous_sha256) });
  const passages = async () => [
    await passageFor(node.node, ofEvent, 'visitor'),
    await passageFor(node.node, ofObject, 'visitor'),
  ];
  const quoted = expect.objectContaining({ exact: QUOTE }) as object;
  expect(await passages()).toEqual([quoted, quoted]);
  await withhold(node.node, { sha256: String(sha256) });
  expect(await passages()).toEqual([null, quoted]);
  await withhold(node.node, { sha256: String(previous_sha256) });
  await show(node.node, { sha256: String(sha256) });
  expect(await passages()).toEqual([null, null]);
  expect(await shown(node.node)).toEqual([]);
});
