import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { checkRecord } from '../../server/archive/packs/checkRecord.ts';
import { partRecord } from '../../server/archive/sets/setRecords.ts';
import type { Pack } from '../../shared/archive/pack.ts';
import { release, show, withhold } from '../copies/withheldCopies.ts';
import { addPeer, mirror } from '../peers/support.ts';
import { packForm, sampleRecord, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { share } from '../support/network/sharing.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';

/*
 * A visitor, or a peer that is mirrored, may publish a set whose files have any files of this archive as parts. It need not have
 * them: who knows the digest and the size of some bytes can compute the digest of a file that begins with them.
 */

afterEach(closeTestNodes);

const SECRET = 'a letter that the owner withholds';
const REPORT = 'a report that everybody may read';
const FIRST = 'day,level\n1,10\n';
const REST = '2,11\n';
const SECOND = FIRST + REST;

const statusesOf = (node: TestNode, contents: readonly string[]) =>
  Promise.all(contents.map(async (content) => (await node.fetch(`/api/blobs/${sha256Of(content)}`)).status));

async function exportedAndImported(node: TestNode): Promise<TestNode> {
  await node.close();
  const folder = await temporaryFolder();
  const [file, data] = [join(folder, 'archive.zip'), join(folder, 'data')];
  expect(await runHere(['export', '--data', node.dataFolder, '--out', file])).toMatchObject({ code: 0 });
  expect(await runHere(['import', file, '--data', data])).toMatchObject({ code: 0 });
  return openTestNode({ dataFolder: data });
}

/** Sends something to a node that is shared, without the owner's token. */
async function sent(node: TestNode, record: object, files: Record<string, string>): Promise<Pack> {
  const answer = await node.fetch('/api/packs', { method: 'POST', body: packForm(record, files) });
  expect([answer.status, await answer.clone().text()]).toMatchObject([201, {}]);
  return (await answer.json()) as Pack;
}

/** Publishes a set with a file that consists of these parts, as a visitor of the node or of a peer. Returns its id. */
async function publishParts(node: TestNode, contents: readonly string[]): Promise<string> {
  const { record } = checkRecord({ ...sampleRecord({ title: contents.join() }), files: [] });
  const parts = [];
  for (const [place, content] of contents.entries()) {
    const { files: _, ...part } = partRecord({ ...record, title: `${place}` }, []);
    const { id: pack } = await sent(node, part, { piece: content });
    const bytes = Buffer.byteLength(content);
    parts.push({ pack, path: 'piece', bytes, sha256: sha256Of(content) });
  }
  const whole = contents.join('');
  const file = { path: 'x.bin', bytes: Buffer.byteLength(whole), sha256: sha256Of(whole), parts };
  const list = JSON.stringify({ format: 'strongroom-set@1', files: [file] });
  return (await sent(node, sampleRecord({ title: `Set ${whole}` }), { 'set.json': list })).id;
}

describe.each(['visitor', 'peer'])('a set of a %s', (kind) => {
  /** A node with files of its owner, and what publishes a set of somebody else there. */
  async function withFiles(...files: string[]) {
    const node = await openTestNode();
    for (const content of files) await uploadNewPack(node, { title: content }, { 'file.txt': content });
    const place = kind === 'peer' ? await openTestNode() : node;
    await share(place, 'contribute');
    const peer = kind === 'peer' ? await addPeer(node, place.url) : undefined;
    return {
      node,
      publish: async (...parts: string[]) => {
        const set = await publishParts(place, parts);
        if (peer) expect(await mirror(node, peer, { packs: true })).toMatchObject({ refused: [] });
        return set;
      },
    };
  }

  test.each(['before', 'after'])(
    'does not hide a file of the owner together with one that he withholds %s',
    async (when) => {
      const { node: first, publish } = await withFiles(SECRET, REPORT);
      if (when === 'before') await withhold(first, { sha256: sha256Of(SECRET) });
      await publish(SECRET, ' glue ', REPORT);
      if (when === 'after') await withhold(first, { sha256: sha256Of(SECRET) });
      expect(await statusesOf(first, [SECRET, REPORT])).toEqual([451, 200]);
      const node = await exportedAndImported(first);
      expect(await statusesOf(node, [SECRET, REPORT])).toEqual([451, 200]);
      await withhold(node, { sha256: sha256Of(' glue ') });
      await show(node, { sha256: sha256Of(SECRET) });
      expect(await statusesOf(node, [SECRET, ' glue ', REPORT])).toEqual([200, 451, 200]);
    },
  );

  test('hides no file that the owner publishes after it', async () => {
    const { node, publish } = await withFiles(SECRET);
    await publish(' glue ', REPORT);
    await publish(SECRET, ' glue ', REPORT);
    await uploadNewPack(node, { title: 'later' }, { 'report.txt': REPORT });
    await withhold(node, { sha256: sha256Of(' glue ') });
    expect(await statusesOf(node, [SECRET, ' glue ', REPORT])).toEqual([200, 451, 200]);
    expect(await statusesOf(await exportedAndImported(node), [SECRET, ' glue ', REPORT])).toEqual([
      200, 451, 200,
    ]);
  });

  test('does not have a file of the owner given up that he does not name', async () => {
    const { node, publish } = await withFiles(FIRST, SECOND);
    await publish(FIRST, REST);
    await release(node, sha256Of(SECOND));
    expect(await statusesOf(node, [SECOND, REST, FIRST])).toEqual([410, 410, 200]);
    expect(await statusesOf(await exportedAndImported(node), [SECOND, REST, FIRST])).toEqual([410, 410, 200]);
  });

  test('does not show in pieces what the owner withholds, and no piece of it hides his file', async () => {
    const { node: first, publish } = await withFiles(SECOND);
    await publish('day,le', 'vel\n1,10\n2,11\n');
    await withhold(first, { sha256: sha256Of(SECOND) });
    expect(await statusesOf(first, [SECOND, 'day,le', 'vel\n1,10\n2,11\n'])).toEqual([451, 451, 451]);
    const node = await exportedAndImported(first);
    expect(await statusesOf(node, [SECOND, 'day,le', 'vel\n1,10\n2,11\n'])).toEqual([451, 451, 451]);
    await withhold(node, { sha256: sha256Of('day,le') });
    await show(node, { sha256: sha256Of(SECOND) });
    expect(await statusesOf(node, [SECOND, 'day,le', 'vel\n1,10\n2,11\n'])).toEqual([200, 451, 200]);
  });

  test.each(['file', 'part', 'set'])('with new bytes is withheld as a whole with its %s', async (target) => {
    const { node: first, publish } = await withFiles(REPORT);
    const set = await publish('one ', 'two');
    const digest = sha256Of(target === 'file' ? 'one two' : 'two');
    await withhold(first, target === 'set' ? { pack: set } : { sha256: digest });
    expect(await statusesOf(first, ['one ', 'two'])).toEqual([451, 451]);
    expect(await statusesOf(await exportedAndImported(first), ['one ', 'two'])).toEqual([451, 451]);
  });
});
