import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32, gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { CaptureFileTooLargeError } from '../../../server/collection/captures/capture.ts';
import { gzipMembers } from '../../../server/collection/captures/warc/decompress.ts';
import { closeTestNodes } from '../../support/node.ts';
import { gzippedByRecord, http, record, response } from '../../support/warcFiles.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';
import { growthOfImports, imported } from './support.ts';

let node: CollectingNode;
let observers = 0;

beforeAll(async () => {
  node = await openCollectingNode();
});
afterEach(async () => {
  expect(await readdir(join(node.node.dataFolder, 'tmp'))).toEqual([]);
});
afterAll(closeTestNodes);

/** Imports a file of an observer of its own, whose captures are apart from those of other tests. */
async function importedAlone(file: Buffer) {
  observers += 1;
  const observer = `Archive ${observers}`;
  const result = await imported(node, file, { observer });
  return { result, events: (await node.events(`observer=${observer}`)).map(({ id }) => id).reverse() };
}

const day = (number: number, body: string) => response(body, { date: `2020-01-0${number}T00:00:00Z` });
const [one, two, three] = [
  day(1, 'first '.repeat(200)),
  day(2, 'second '.repeat(200)),
  day(3, 'third'),
] as const;
const bad = (fields: Record<string, string | null>) => record({ block: http('bad'), fields });

/** Changes the checksum of a member. */
function withWrongChecksum(bytes: Buffer): Buffer {
  const member = gzipSync(bytes);
  member.writeUInt32LE((member.readUInt32LE(member.length - 8) ^ 1) >>> 0, member.length - 8);
  return member;
}

/** Writes the optional fields of a member's header too, as wget does (RFC 1952, section 2.3). */
function withHeaderFields(bytes: Buffer): Buffer {
  const member = gzipSync(bytes);
  member[3] = 2 | 4 | 8 | 16;
  const fields = Buffer.concat([Buffer.from([4, 0]), Buffer.from('sl\0\0name\0comment\0')]);
  const header = Buffer.concat([member.subarray(0, 10), fields]);
  const checksum = Buffer.alloc(2);
  checksum.writeUInt16LE(crc32(header) & 0xffff);
  return Buffer.concat([header, checksum, member.subarray(10)]);
}

function withLongName(bytes: Buffer): Buffer {
  const member = gzipSync(bytes);
  member[3] = 8;
  const name = Buffer.from(`${'n'.repeat(300_000)}\0`);
  return Buffer.concat([member.subarray(0, 10), name, member.subarray(10)]);
}

describe('a damaged record in a gzip member of its own is refused, and those after it are read:', () => {
  const MEMBERS: [how: string, member: Buffer, count: number][] = [
    ['a length that is too small', gzipSync(bad({ 'Content-Length': '3' })), 1],
    ['a length that reaches into the next members', gzipSync(bad({ 'Content-Length': '800' })), 1],
    ['a length beyond the end of the file', gzipSync(bad({ 'Content-Length': '999999999' })), 1],
    ['no length', gzipSync(bad({ 'Content-Length': null })), 1],
    ['fields of 10 MB', gzipSync(bad({ 'X-Long': 'x'.repeat(10_000_000) })), 1],
    ['text instead of a record', gzipSync('This is no record.'), 1],
    ['a wrong checksum', withWrongChecksum(bad({})), 1],
    [
      'three in a row',
      gzippedByRecord([bad({ 'Content-Length': '3' }), Buffer.from('x'), bad({ 'Content-Length': null })]),
      3,
    ],
    ['100 MB of zeros', gzipSync(Buffer.alloc(100_000_000)), 1],
  ];
  const fileWith = (member: Buffer) =>
    Buffer.concat([gzipSync(one), member, withHeaderFields(two), gzipSync(three)]);

  test.each(MEMBERS)('%s', async (_how, member, count) => {
    const { result, events } = await importedAlone(fileWith(member));
    expect(result).toMatchObject({ captures: 3, refused: [{ reason: 'damaged', count }] });
    expect(events).toHaveLength(3);
  });

  test('none of them needs much memory', async () => {
    const growths = await growthOfImports(MEMBERS.map(([, member]) => fileWith(member)));
    expect(growths).toHaveLength(MEMBERS.length);
    for (const [index, growth] of growths.entries())
      expect(growth, MEMBERS[index]?.[0]).toBeLessThan(300_000_000);
  });

  test('a large one, whose bytes were staged', async () => {
    const large = record({
      date: '2020-01-05T00:00:00Z',
      block: http('x'.repeat(400_000), { headers: { 'Content-Type': 'text/plain' } }),
      fields: { 'Content-Length': '300000' },
    });
    const file = gzippedByRecord([one, large, two]);
    expect((await importedAlone(file)).result).toMatchObject({
      captures: 2,
      refused: [{ reason: 'damaged', count: 1 }],
    });
  });

  test('records before it are counted once', async () => {
    const info = record({
      type: 'warcinfo',
      contentType: 'application/warc-fields',
      block: 'software: x\r\n',
    });
    const refused = response('x', { uri: 'dns:example.com' });
    const file = gzippedByRecord([info, refused, one, bad({ 'Content-Length': '3' }), refused, info, two]);
    const { result, events } = await importedAlone(file);
    expect(events).toHaveLength(2);
    expect(result).toEqual({
      captures: 2,
      already_held: 0,
      skipped: 2,
      events,
      refused: [
        { reason: 'not_http', count: 2 },
        { reason: 'damaged', count: 1 },
      ],
    });
  });
});

describe('reading ends at the damage', () => {
  test.each<[string, Buffer]>([
    [
      'in an uncompressed file, where the next record may be part of a page',
      Buffer.concat([one, bad({ 'Content-Length': '3' }), two]),
    ],
    [
      'in a file compressed as one stream',
      gzipSync(Buffer.concat([one, bad({ 'Content-Length': '3' }), two])),
    ],
    [
      'if a member before it has a very long name',
      Buffer.concat([withLongName(one), gzipSync(bad({ 'Content-Length': '3' })), gzipSync(two)]),
    ],
    [
      'if members do not begin with records',
      gzippedByRecord([
        one,
        bad({ 'Content-Length': '3' }).subarray(0, 20),
        Buffer.concat([bad({ 'Content-Length': '3' }).subarray(20), two]),
      ]),
    ],
    [
      'if other bytes follow it',
      Buffer.concat([
        gzipSync(one),
        gzipSync(bad({ 'Content-Length': '3' })),
        Buffer.from('x'.repeat(99)),
        gzipSync(two),
      ]),
    ],
  ])('%s', async (_where, file) => {
    const { result } = await importedAlone(file);
    expect(result.captures).toBe(1);
    expect(result.refused.map(({ reason }) => reason)).toEqual(['damaged']);
  });

  test('if 10,000 records are damaged', async () => {
    const garbage = gzipSync('x');
    const file = Buffer.concat([
      gzipSync(one),
      ...Array.from({ length: 10_100 }, () => garbage),
      gzipSync(two),
    ]);
    expect((await importedAlone(file)).result).toMatchObject({
      captures: 1,
      refused: [{ reason: 'damaged', count: 10_000 }],
    });
  });
});

test('what is skipped of a member counts towards the limit', async () => {
  const open = async function* () {
    yield gzippedByRecord([Buffer.alloc(10), Buffer.alloc(1_000), Buffer.alloc(10)]);
  };
  const startsWithin = async (maxBytes: number) => {
    const starts: number[] = [];
    for await (const { start } of gzipMembers(open, maxBytes, AbortSignal.any([]))) starts.push(start);
    return starts;
  };
  expect(await startsWithin(1_020)).toEqual([0, 10, 1_010]);
  await expect(startsWithin(1_009)).rejects.toBeInstanceOf(CaptureFileTooLargeError);
});
