import { afterEach, expect, test } from 'vitest';
import { closeTestNodes } from '../../support/node.ts';
import { gzippedByRecord, response } from '../../support/warcFiles.ts';
import { openCollectingNode } from '../support.ts';
import { imported } from './support.ts';

afterEach(closeTestNodes);

const RECORDS = 800;
const ADDRESSES = 200;

const file = gzippedByRecord(
  Array.from({ length: RECORDS }, (_, number) =>
    response(`Version ${number} of a page.`, {
      uri: `http://example.com/${number % ADDRESSES}`,
      date: `${new Date(Date.parse('2020-01-01T00:00:00Z') + number * 1000).toISOString().slice(0, 19)}Z`,
    }),
  ),
);

test('two concurrent imports of the same file record each capture once', async () => {
  const node = await openCollectingNode();
  const results = await Promise.all([imported(node, file), imported(node, file)]);
  for (const { captures, already_held, events, refused } of results) {
    expect(captures + already_held).toBe(RECORDS);
    expect(events).toHaveLength(captures);
    expect(refused).toEqual([]);
  }
  const ids = results.flatMap(({ events }) => events).sort((left, right) => left - right);
  expect(ids).toEqual(Array.from({ length: RECORDS }, (_, index) => index + 1));
  expect(await node.read('/api/events?limit=1')).toMatchObject({ total: RECORDS });
  expect(await node.read('/manage/sources?limit=1')).toMatchObject({ total: ADDRESSES });
  expect(await node.read('/api/ledger/verify')).toMatchObject({ ok: true, problems: [] });
});

test('concurrent imports of the same captures by two observers record them for each', async () => {
  const node = await openCollectingNode();
  const results = await Promise.all(['One', 'Two'].map((observer) => imported(node, file, { observer })));
  for (const result of results) expect(result).toMatchObject({ captures: RECORDS, already_held: 0 });
  expect(await node.read('/api/events?limit=1')).toMatchObject({ total: 2 * RECORDS });
  expect(await node.read('/manage/sources?limit=1')).toMatchObject({ total: ADDRESSES });
  expect(await node.read('/api/ledger/verify')).toMatchObject({ ok: true, problems: [] });
});
