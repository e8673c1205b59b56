import { createHash } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import { closeTestNodes } from '../../support/node.ts';
import { gzippedByRecord, response } from '../../support/warcFiles.ts';
import { openCollectingNode } from '../support.ts';
import { bytesOf, imported } from './support.ts';

afterEach(closeTestNodes);

/** More than the batches that are stored ahead. */
const RECORDS = 2_200;
/** One body too large to be held in memory and one that is small; both occur many times. */
const LARGE = 'a large page '.repeat(20_000);
const SMALL = 'a small page';
const shared = (number: number) => (number % 100 === 0 ? LARGE : SMALL);

test('an object shared by many captures is stored once, before the first of them is recorded', async () => {
  const file = gzippedByRecord(
    Array.from({ length: RECORDS }, (_, number) =>
      response(number % 2 === 0 ? shared(number) : `Page ${number}`, {
        uri: `http://example.com/${number}`,
        date: `${new Date(Date.parse('2020-01-01T00:00:00Z') + number * 1000).toISOString().slice(0, 19)}Z`,
      }),
    ),
  );
  const node = await openCollectingNode();
  expect(await imported(node, file)).toMatchObject({ captures: RECORDS, already_held: 0, refused: [] });
  for (const page of [LARGE, SMALL, 'Page 1', `Page ${RECORDS - 1}`])
    expect(await bytesOf(node, createHash('sha256').update(page).digest('hex'))).toBe(page);
  expect(await node.read('/api/stats')).toMatchObject({
    archived_objects: 2 + RECORDS / 2,
    events: RECORDS,
    observations: RECORDS,
  });
  expect(await node.read('/api/ledger/verify')).toMatchObject({ ok: true, problems: [] });
});
