import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { Pack } from '../../shared/archive/pack.ts';
import type { LedgerEntry } from '../../shared/ledger/ledger.ts';
import type { PackDeposit } from '../../shared/node/deposit.ts';
import { parseLines } from '../dump/dumpLines.ts';
import { InvenioServer } from '../repositories/deposit/invenioServer.ts';
import { closeRepositories } from '../repositories/deposit/repositoryServer.ts';
import { addRepository, deposit, openDepositingNode } from '../repositories/deposit/support.ts';
import { uploadNewPack } from '../support/archive/packs.ts';
import { LyingPeer } from '../support/network/lyingPeer.ts';
import { closePeerFronts } from '../support/network/peerFront.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';
import { addPeer, expectVerified, mirror } from './support.ts';

afterEach(async () => {
  closePeerFronts();
  await closeTestNodes();
  await closeRepositories();
});

const FILES = { 'a.txt': 'a' };
const RECORD = { title: 'Deposited' };

const shown = async (node: TestNode, id: string) =>
  ((await (await node.fetch(`/api/packs/${id}`)).json()) as Pack).evidence.deposits;
const cited = async (node: TestNode, id: string) =>
  (await node.fetch(`/api/items/${id}/cite?format=apa`)).text();
const entries = async (node: TestNode) =>
  ((await (await node.fetch('/api/ledger?limit=200')).json()) as { items: LedgerEntry[] }).items;

/** A peer that can deposit a pack, and a node that mirrors from it. */
async function nodes() {
  const server = await new InvenioServer().listen();
  const { node: origin } = await openDepositingNode();
  const repository = await addRepository(origin, { kind: 'invenio' }, server);
  const pack = await uploadNewPack(origin, RECORD, FILES);
  const publish = (id = pack.id) => deposit(origin, id, repository.id, true);
  const front = await LyingPeer.open(origin.url);
  const node = await openTestNode();
  const peer = await addPeer(node, front.url);
  return { origin, pack, publish, front, node, peer };
}

test('a mirror shows the DOI with the peer that says so, also after a restore, and takes it once', async () => {
  const { origin, pack, publish, node, peer } = await nodes();
  const { doi, url, published_at } = await publish();
  expect(await mirror(node, peer, { packs: true })).toMatchObject({ packs: 1, deposits: 1, refused: [] });
  const [, original] = await entries(origin);
  const [, entry, ...others] = await entries(node);
  expect(others).toEqual([]);
  const { digest, subject, type } = original as LedgerEntry;
  expect(entry).toMatchObject({ seq: 2, type, subject, digest });
  const deposits = [{ doi, url, published_at, ledger_entry: 2, peer: { name: peer.name, key: peer.key } }];
  expect(await shown(node, pack.id)).toEqual(deposits);
  expect(await cited(node, pack.id)).toContain(`https://doi.org/${doi}\n`);
  expect((await mirror(node, peer, { packs: true })).deposits).toBeUndefined();
  expect(await entries(node)).toHaveLength(2);
  await expectVerified(node);

  const dump = await (await node.fetch('/api/dump.jsonl')).text();
  const folder = await temporaryFolder();
  const [file, dataFolder] = [join(folder, 'dump.jsonl'), join(folder, 'restored')];
  await writeFile(file, dump);
  expect(await runHere(['import', file, '--data', dataFolder])).toMatchObject({ code: 0 });
  const restored = await openTestNode({ dataFolder });
  expect(await shown(restored, pack.id)).toEqual(deposits);
  const lines = parseLines(await (await restored.fetch('/api/dump.jsonl')).text());
  expect(lines.slice(1, -1)).toEqual(parseLines(dump).slice(1, -1));
  const forged = parseLines(dump)
    .map((line) => JSON.stringify(line))
    .map((line) => (line.includes('pack_provenance') ? line.replace(/"index":1/, '"index":0') : line));
  await writeFile(file, `${forged.join('\n')}\n`);
  const refused = await runHere(['import', file, '--data', join(folder, 'forged')]);
  expect(refused.stderr).toMatch(/it does not prove that the peer has this deposit/);

  // A mirror of the mirror names whom it has it from.
  const next = await openTestNode();
  const middle = await addPeer(next, node.url);
  expect(await mirror(next, middle, { packs: true })).toMatchObject({ deposits: 1, refused: [] });
  expect(await shown(next, pack.id)).toMatchObject([{ doi, peer: { name: middle.name } }]);
});

test('a deposit of a pack that is here already comes with the next mirror, whatever is selected', async () => {
  const { origin, pack, publish, node, peer } = await nodes();
  const other = await uploadNewPack(origin, { title: 'Another' }, FILES);
  await mirror(node, peer, { packs: { q: 'deposited' } });
  expect(await shown(node, pack.id)).toBeUndefined();
  await publish();
  const { doi } = await publish(other.id);
  expect(await mirror(node, peer, { packs: { q: 'deposited' } })).toMatchObject({ packs: 0, deposits: 1 });
  // The peer's ledger has not grown since.
  expect(await mirror(node, peer, { packs: true })).toMatchObject({ packs: 1, deposits: 1 });
  expect(await shown(node, other.id)).toMatchObject([{ doi }]);
  await expectVerified(node);
});

test('what a peer says of packs that are not from its ledger, or does not prove, is not taken', async () => {
  const { pack, publish, front, node, peer } = await nodes();
  const own = await openTestNode();
  await uploadNewPack(own, RECORD, FILES);
  const ownPeer = await addPeer(own, front.url);
  await publish();
  expect((await mirror(own, ownPeer, { packs: true })).deposits).toBeUndefined();
  expect(await entries(own)).toHaveLength(1);

  front.lie(/^\/api\/deposits/, (body) => {
    const list = JSON.parse(body.toString()) as { items: PackDeposit[] };
    return Buffer.from(
      JSON.stringify({ ...list, items: list.items.map((each) => ({ ...each, doi: '10.5072/forged' })) }),
    );
  });
  const lied = await mirror(node, peer, { packs: true });
  expect(lied).toMatchObject({ packs: 1, refused: [{ reason: 'wrong_record', count: 1 }] });
  expect(await shown(node, pack.id)).toBeUndefined();
  front.tellTheTruth();
  // A peer of an earlier version has no such list.
  front.lie(/^\/api\/deposits/, (_body, response) => void response.writeHead(404).end());
  expect(await mirror(node, peer, { packs: true })).toMatchObject({ already_held: 1, refused: [] });
  front.tellTheTruth();
  const besides = (changes: object) =>
    front.lie(/^\/api\/deposits/, (body) => {
      const { items, ...list } = JSON.parse(body.toString()) as { items: PackDeposit[] };
      const wrong = { ...items[0], ledger_entry: 1, ...changes };
      return Buffer.from(JSON.stringify({ ...list, items: [...items, wrong] }));
    });
  besides({ doi: '10.5072/\ud800' });
  expect(await mirror(node, peer, { packs: true })).toMatchObject({
    deposits: 1,
    refused: [{ reason: 'wrong_record', count: 1 }],
  });
  front.tellTheTruth();
  // A peer of a later version knows more kinds of repositories.
  besides({ repository: 'figshare' });
  expect(await mirror(node, peer, { packs: true })).toMatchObject({ refused: [] });
});

test('the deposit of this node is cited before that of a peer, which may state any time', async () => {
  const { pack, publish, front } = await nodes();
  const theirs = await publish();
  const { node } = await openDepositingNode();
  const peer = await addPeer(node, front.url);
  expect(await mirror(node, peer, { packs: true })).toMatchObject({ deposits: 1 });
  const server = await new InvenioServer().listen();
  const repository = await addRepository(node, { kind: 'invenio' }, server);
  const own = await deposit(node, pack.id, repository.id, true);
  expect(Date.parse(own.published_at ?? '')).toBeGreaterThanOrEqual(Date.parse(theirs.published_at ?? ''));
  const deposits = await shown(node, pack.id);
  expect(deposits).toMatchObject([{ url: own.url }, { url: theirs.url, peer: { name: peer.name } }]);
  expect(deposits?.[0]?.peer).toBeUndefined();
  expect(await cited(node, pack.id)).toContain(`https://doi.org/${own.doi}\n`);
});

test('a peer can add at most 20 deposits of a pack', async () => {
  const { origin, pack, publish, node, peer } = await nodes();
  for (let made = 0; made < 21; made += 1) {
    const server = await new InvenioServer().listen();
    const repository = await addRepository(origin, { kind: 'invenio' }, server);
    await deposit(origin, pack.id, repository.id, true);
  }
  await publish();
  expect(await mirror(node, peer, { packs: true })).toMatchObject({
    deposits: 20,
    refused: [{ reason: 'too_large', count: 2 }],
  });
  expect(await shown(node, pack.id)).toHaveLength(20);
});
