import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { openCheckpoint } from '../../server/ledger/checkpoint.ts';
import { isProvenBy } from '../../server/ledger/prove.ts';
import type { Pack } from '../../shared/archive/pack.ts';
import type { MirrorResult, PackProvenance } from '../../shared/node/peer.ts';
import { TILE_WIDTH } from '../../shared/proof/ledger/tree.ts';
import { sampleRecord, sha256Of, uploadNewPack, uploadPack } from '../support/archive/packs.ts';
import { eventually } from '../support/eventually.ts';
import { ManualClock } from '../support/manualClock.ts';
import { LyingPeer } from '../support/network/lyingPeer.ts';
import { closePeerFronts } from '../support/network/peerFront.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';
import { addPeer, expectVerified, mirror, readPeer, sizeOf } from './support.ts';

afterEach(async () => {
  closePeerFronts();
  await closeTestNodes();
});

const packOf = async (node: TestNode, id: string) =>
  (await (await node.fetch(`/api/packs/${id}`)).json()) as Pack;
const count = async (node: TestNode) =>
  ((await (await node.fetch('/api/packs')).json()) as { total: number }).total;

/** A node with a subject, a study with a history, an original, its replication and a newer version of that. */
async function filledPeer(): Promise<{ peer: TestNode; packs: Pack[]; study: string }> {
  const peer = await openTestNode();
  for (const path of ['ocean', 'ocean/north'])
    await peer.sendJson('POST', '/api/nodes', { path, title: `About ${path}` });
  const study = (await (
    await peer.sendJson('POST', '/api/studies', { title: 'Does it?', node: 'ocean/north' })
  ).json()) as { id: string };
  for (const status of ['running', 'completed'])
    await peer.sendJson('POST', `/api/studies/${study.id}/status`, { status, note: `now ${status}` });
  const first = await uploadNewPack(peer, { study: study.id }, { 'a.csv': 'x\n1\n', 'same.csv': 'x\n1\n' });
  const replicates = { pack: first.id, verdict: 'reproduced' as const };
  const second = await uploadNewPack(
    peer,
    { title: 'Again', replicates },
    { 'b.csv': 'y\n', 'a.csv': 'x\n1\n' },
  );
  const third = await uploadNewPack(peer, { title: 'Better', supersedes: second.id });
  return { peer, packs: [first, second, third], study: study.id };
}

test('packs keep id and fingerprint, and bring what they need; a second time nothing is taken', async () => {
  const { peer, packs, study } = await filledPeer();
  const node = await openTestNode();
  const added = await addPeer(node, peer.url);
  const taken = await mirror(node, added, { packs: true });
  expect(taken).toEqual({
    packs: 3,
    events: 0,
    objects: 2,
    bytes: 6,
    already_held: 0,
    refused: [],
  });
  for (const { id, digest, files } of packs) {
    const here = await packOf(node, id);
    expect(here).toMatchObject({ id, digest, files });
    expect(await (await node.fetch(`/api/packs/${id}/verify`)).json()).toMatchObject({ ok: true });
  }
  const history = (of: TestNode) =>
    of.fetch(`/api/studies/${study}`).then(async (answer) => {
      const { status_history } = (await answer.json()) as {
        status_history: { status: string; note: string }[];
      };
      return status_history.map(({ status, note }) => [status, note]);
    });
  expect(await history(node)).toEqual(await history(peer));
  expect(await (await node.fetch('/api/nodes/ocean/north')).json()).toMatchObject({
    title: 'About ocean/north',
  });
  const size = await sizeOf(node);
  expect(await mirror(node, added, { packs: true })).toMatchObject({ packs: 0, objects: 0, already_held: 3 });
  expect(await sizeOf(node)).toBe(size);
  await expectVerified(node);
});

test('a selection takes its packs and those that they name, and a later mirror only what is new', async () => {
  const { peer, packs, study } = await filledPeer();
  const node = await openTestNode();
  const added = await addPeer(node, peer.url);
  await uploadNewPack(peer, { title: 'Unrelated zircon' });
  expect(await mirror(node, added, { packs: { q: 'better' } })).toMatchObject({ packs: 3, already_held: 0 });
  expect(await count(node)).toBe(3);
  expect(await mirror(node, added, { packs: { study } })).toMatchObject({
    packs: 0,
    already_held: 1,
  });
  expect(await mirror(node, added, { packs: true })).toMatchObject({ packs: 1, already_held: 3 });
  await uploadNewPack(peer, { title: 'New', supersedes: packs[2]?.id ?? '' }, { 'c.txt': 'c' });
  expect(await mirror(node, added, { packs: true })).toMatchObject({ packs: 1, objects: 1, already_held: 4 });
});

test('the provenance of a mirrored pack proves that the peer has it, also after a dump was restored', async () => {
  const { peer, packs } = await filledPeer();
  const node = await openTestNode();
  const added = await addPeer(node, peer.url);
  await mirror(node, added, { packs: true });
  for (const { id, digest, ledger_entry } of packs) {
    const answer = await node.fetch(`/api/packs/${id}/provenance`);
    const provenance = (await answer.json()) as PackProvenance;
    expect(provenance).toMatchObject({
      peer: { name: added.name, key: added.key },
      entry: { seq: ledger_entry, subject: id },
    });
    expect(isProvenBy(provenance, digest)).toBe(true);
    expect(isProvenBy(provenance, sha256Of('another'))).toBe(false);
    const proof = await peer.fetch(`/api/ledger/proof?seq=${ledger_entry}&size=${provenance.proof.size}`);
    expect(await proof.json()).toEqual(provenance.proof);
    expect(openCheckpoint(provenance.checkpoint, added.key).size).toBe(provenance.proof.size);
  }
  await node.close();
  const file = join(await temporaryFolder(), 'dump.jsonl');
  const reopened = await openTestNode({ dataFolder: node.dataFolder });
  const dump = await (await reopened.fetch('/api/dump.jsonl')).text();
  const [first] = packs;
  const read = (at: TestNode) =>
    at.fetch(`/api/packs/${first?.id}/provenance`).then((answer) => answer.json());
  for (const [text, code] of [
    [dump, 0],
    [dump.replace(/("kind":"pack_provenance".*?"index":)(\d+)/, '$18'), 1],
  ] as const) {
    await writeFile(file, text);
    const dataFolder = join(await temporaryFolder(), 'data');
    const imported = await runHere(['import', file, '--data', dataFolder]);
    expect(imported.code, imported.stderr).toBe(code);
    if (code === 0) expect(await read(await openTestNode({ dataFolder }))).toEqual(await read(reopened));
    else expect(imported.stderr).toMatch(/it does not prove that the peer has this pack/);
  }
  const own = await uploadNewPack(reopened, { title: 'Own' });
  expect((await reopened.fetch(`/api/packs/${own.id}/provenance`)).status).toBe(404);
  expect((await reopened.fetch(`/api/packs/${own.id}/provenance?optional=true`)).status).toBe(204);
});

test('proofs hold across tiles: 250 packs of a ledger of more than two tiles', async () => {
  const [peer, node] = [await openTestNode(), await openTestNode()];
  for (let first = 0; first < 250; first += 50) {
    await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        uploadPack(peer, sampleRecord({ title: `Pack ${first + index}` })),
      ),
    );
    // What else the ledger holds between the packs.
    const sources = Array.from({ length: 100 }, (_, index) => `https://h${first}-${index}.example/`);
    const list = { headers: { 'Content-Type': 'text/plain' }, body: sources.join('\n') };
    const added = await peer.fetchAsOwner('/manage/sources/import', { method: 'POST', ...list });
    expect(added.status).toBe(200);
  }
  expect(await sizeOf(peer)).toBeGreaterThan(2 * TILE_WIDTH);
  const added = await addPeer(node, peer.url);
  expect(await mirror(node, added, { packs: true })).toMatchObject({ packs: 250, refused: [] });
  await expectVerified(node);
});

describe('a lying peer costs nothing but its refusal', () => {
  const swap = (from: string, to: string) => (body: Buffer) =>
    Buffer.from(body.toString('latin1').replaceAll(from, to), 'latin1');

  /** Mirrors three packs from behind a lie, and requires that nothing of them is kept. */
  async function refusedBy(
    lie: (front: LyingPeer, packs: Pack[]) => void,
    config: Parameters<typeof openTestNode>[0] = {},
  ): Promise<MirrorResult['refused']> {
    const peer = await openTestNode();
    const packs = [
      await uploadNewPack(peer, {}, { 'a.txt': 'the truth' }),
      await uploadNewPack(peer, { title: 'Two' }, { 'b.txt': 'also true' }),
    ];
    const front = await LyingPeer.open(peer.url);
    const node = await openTestNode(config);
    const added = await addPeer(node, front.url);
    lie(front, packs);
    const { refused, ...taken } = await mirror(node, added, { packs: true });
    expect(taken).toEqual({ packs: 0, events: 0, objects: 0, bytes: 0, already_held: 0 });
    expect(await sizeOf(node)).toBe(0);
    expect((await node.fetch(`/api/blobs/${sha256Of('the truth')}`)).status).toBe(404);
    front.tellTheTruth();
    expect(await mirror(node, added, { packs: true })).toMatchObject({ packs: 2, refused: [] });
    await expectVerified(node);
    return refused;
  }

  test('wrong bytes', async () => {
    expect(await refusedBy((front) => front.lie(/blobs/, () => Buffer.from('some lies')))).toEqual([
      { reason: 'wrong_bytes', count: 2 },
    ]);
  });

  test('an endless answer', async () => {
    const endless = (front: LyingPeer) =>
      front.lie(/blobs/, (_body, response) => {
        response.writeHead(200);
        const more = () => {
          while (!response.destroyed && response.write(Buffer.alloc(65_536)));
        };
        response.on('drain', more);
        more();
        return undefined;
      });
    expect(await refusedBy(endless)).toEqual([{ reason: 'wrong_bytes', count: 2 }]);
  });

  test('an answer that stalls', async () => {
    const running = new Set<() => void>();
    const peerTimer = (_ms: number, over: () => void) => {
      running.add(over);
      return () => void running.delete(over);
    };
    let stalled = 0;
    const stall = (front: LyingPeer) =>
      front.lie(/blobs/, (_body, response) => {
        response.writeHead(200).write('th');
        stalled += 1;
        // The time of both is over, and then that for the bytes that came.
        if (stalled === 2)
          for (let round = 0; round < 2; round += 1) for (const over of Array.from(running)) over();
        return undefined;
      });
    expect(await refusedBy(stall, { peerTimer })).toEqual([{ reason: 'timeout', count: 2 }]);
  });

  test('a changed record', async () => {
    expect(await refusedBy((front) => front.lie(/api\/packs/, swap('Ada Lovelace', 'Bea Lovelace')))).toEqual(
      [{ reason: 'wrong_record', count: 2 }],
    );
  });

  test('a changed entry, and a cut tile', async () => {
    expect(
      await refusedBy((front, [pack]) =>
        front.lie(/tile\/entries/, swap(pack?.digest ?? '', sha256Of('lies'))),
      ),
    ).toEqual([{ reason: 'wrong_proof', count: 2 }]);
    expect(await refusedBy((front) => front.lie(/tile\/entries/, (body) => body.subarray(0, 99)))).toEqual([
      { reason: 'wrong_proof', count: 2 },
    ]);
  });

  test('a list that has no end', async () => {
    const peer = await openTestNode();
    await uploadNewPack(peer, {}, { 'a.txt': 'true' });
    const front = await LyingPeer.open(peer.url);
    let first: object | undefined;
    front.lie(/api\/packs/, (body) => {
      const list = JSON.parse(body.toString()) as { items: object[]; total: number };
      first ??= list.items[0];
      return Buffer.from(JSON.stringify({ ...list, total: 1e12, items: Array(200).fill(first) }));
    });
    const node = await openTestNode();
    expect(await mirror(node, await addPeer(node, front.url), { packs: true })).toMatchObject({ packs: 1 });
    expect(front.requests.filter((path) => path.includes('/api/packs')).length).toBeLessThan(4);
  });
});

test('a mirror that was interrupted goes on, and takes nothing twice', async () => {
  const peer = await openTestNode();
  for (const name of ['one', 'two', 'three']) await uploadNewPack(peer, { title: name }, { [name]: name });
  const front = await LyingPeer.open(peer.url);
  const node = await openTestNode();
  const added = await addPeer(node, front.url);
  front.lie(new RegExp(sha256Of('three')), (_body, response) => {
    response.destroy();
    return undefined;
  });
  expect(await mirror(node, added, { packs: true })).toMatchObject({
    packs: 2,
    refused: [{ reason: 'missing_object', count: 1 }],
  });
  front.tellTheTruth();
  expect(await mirror(node, added, { packs: true })).toMatchObject({ packs: 1, objects: 1, already_held: 2 });
});

test('a mirror that is followed is repeated when it is due, until that is ended', async () => {
  const clock = new ManualClock();
  const [peer, node] = [
    await openTestNode(),
    await openTestNode({ clock, follow: true, peerPollIntervalMs: 5 }),
  ];
  const front = await LyingPeer.open(peer.url);
  const added = await addPeer(node, front.url);
  await mirror(node, added, { packs: true, follow: true, every_minutes: 10 });
  expect(await readPeer(node, added)).toMatchObject({ follow: true });
  await uploadNewPack(peer);
  await clock.turn(9 * 60_000);
  const asked = front.requests.length;
  await clock.turn(60_000);
  await eventually(async () => expect(await count(node)).toBe(1));
  expect(front.requests.length).toBeGreaterThan(asked);
  await node.sendJson('PATCH', `/manage/peers/${added.id}`, { follow: false });
  expect(await readPeer(node, added)).toMatchObject({ follow: false });
});

test('a followed mirror that fails is tried again after five minutes, not after its whole interval', async () => {
  const clock = new ManualClock();
  const [peer, node] = [
    await openTestNode(),
    await openTestNode({ clock, follow: true, peerPollIntervalMs: 5 }),
  ];
  const front = await LyingPeer.open(peer.url);
  const added = await addPeer(node, front.url);
  await mirror(node, added, { packs: true, follow: true, every_minutes: 60 });
  await uploadNewPack(peer);
  front.lie(/./, (_, response) => void response.destroy());
  const before = front.requests.length;
  await clock.turn(60 * 60_000);
  await eventually(() => expect(front.requests.length).toBeGreaterThan(before));
  front.tellTheTruth();
  await clock.turn(5 * 60_000);
  await eventually(async () => expect(await count(node)).toBe(1));
});
