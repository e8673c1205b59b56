import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { closeTestNodes, openTestNode, temporaryFolder } from '../../support/node.ts';
import { runHere } from '../../support/runHere.ts';
import { record, response, sha1 } from '../../support/warcFiles.ts';
import { CollectingNode, openCollectingNode } from '../support.ts';
import { imported } from './support.ts';

afterEach(closeTestNodes);

test('captures verify in the ledger, and are restored from a dump and recognised when imported again', async () => {
  const node = await openCollectingNode();
  const file = Buffer.concat([
    response('one', { id: '<urn:uuid:one>', fields: { 'WARC-Payload-Digest': sha1('one') } }),
    response('two', { date: '2020-01-02T00:00:00Z' }),
    response('other', { uri: 'http://example.com/other', status: 404 }),
  ]);
  expect(await imported(node, file)).toMatchObject({ captures: 3, events: [1, 2] });
  const verified = await node.read<{ ok: boolean; size: number }>('/api/ledger/verify');
  expect(verified).toMatchObject({ ok: true, size: 5 });
  const events = await node.events();
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'dump.jsonl'), await (await node.node.fetch('/api/dump.jsonl')).text());
  const data = join(folder, 'again');
  expect(await runHere(['import', join(folder, 'dump.jsonl'), '--data', data])).toMatchObject({ code: 0 });
  const again = new CollectingNode(await openTestNode({ dataFolder: data }));
  expect(await again.events()).toEqual(events);
  expect(await again.read('/api/ledger/verify')).toMatchObject({ ok: true, size: 5 });
  const revisit = record({
    type: 'revisit',
    date: '2020-03-01T00:00:00Z',
    fields: {
      'WARC-Profile': 'http://netpreserve.org/warc/1.0/revisit/identical-payload-digest',
      'WARC-Refers-To': '<urn:uuid:one>',
    },
  });
  expect(await imported(again, Buffer.concat([file, revisit]))).toMatchObject({
    captures: 1,
    already_held: 3,
    events: [3],
  });
  expect((await again.events())[0]).toMatchObject({ event_type: 'changed', reverts_to: 1 });
});
