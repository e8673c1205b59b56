import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { MAX_LIST_BYTES, type SourceImport } from '../../../shared/collection/source.ts';
import { runCommand } from '../../support/cli.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../../support/node.ts';

afterEach(closeTestNodes);

/** Returns a list of the maximum length. */
function filled(part: string, begin = '', end = ''): string {
  return begin + part.repeat(Math.floor((MAX_LIST_BYTES - begin.length - end.length) / part.length)) + end;
}

const OPML = ['<opml><body>', '</body></opml>'] as const;
const TOO_LONG: [string, string, string, RegExp][] = [
  ['four million lines', 'list.txt', filled('a\n'), /more than 10000 entries/],
  ['four million rows', 'list.csv', filled('a\n', 'url\n'), /more than 10000 entries/],
  ['a row of eight million cells', 'list.csv', filled(',', 'url\n'), /more than 65536 characters/],
  ['a header of four million columns', 'list.csv', filled('a,', 'url,'), /more than 65536 characters/],
  ['a header of a thousand columns', 'list.csv', `url,${'a,'.repeat(1_000)}\n`, /more than 200 columns/],
  ['800,000 outlines', 'list.opml', filled('<outline/>', ...OPML), /too many tags and attributes/],
  [
    'an outline of 1,600,000 attributes',
    'list.opml',
    filled(' a=""', '<opml><body><outline', '/></body></opml>'),
    /too many tags and attributes/,
  ],
  ['a text of eight million characters', 'list.opml', filled('x', ...OPML), /more than 65536 characters/],
];

describe('a huge list is refused with a message and in little memory', () => {
  test.each(TOO_LONG)('%s', async (_title, name, list, sentence) => {
    const folder = await temporaryFolder();
    const file = join(folder, name);
    await pipeline(Readable.from([list]), createWriteStream(file));
    const data = join(folder, 'data');
    // The limit applies to the whole program. An earlier parser needed four times as much for four million lines.
    const limit = { NODE_OPTIONS: '--max-old-space-size=100' };
    const { code, stderr } = await runCommand(['watch', '--list', file, '--data', data], undefined, limit);
    expect(stderr).toMatch(sentence);
    expect(code).toBe(2);
  });

  test('a file that exceeds the length limit is not read to its end', async () => {
    const folder = await temporaryFolder();
    const file = join(folder, 'list.txt');
    const parts = Array.from({ length: 400 }, () => 'https://a.example/\n'.repeat(55_000));
    await pipeline(Readable.from(parts), createWriteStream(file));
    const limit = { NODE_OPTIONS: '--max-old-space-size=60' };
    const { code, stderr } = await runCommand(
      ['watch', '--list', file, '--data', join(folder, 'data')],
      undefined,
      limit,
    );
    expect(stderr).toContain(`has more than ${MAX_LIST_BYTES} bytes`);
    expect(code).toBe(2);
  });
});

test('a refused URL is truncated in the result', async () => {
  const node = await openTestNode();
  const headers = { 'Content-Type': 'text/plain' };
  const body = `# kept\n\n${'x'.repeat(100_000)}\r\rhttps://a.example/`;
  const response = await node.fetchAsOwner('/manage/sources/import', { method: 'POST', headers, body });
  const { items } = (await response.json()) as SourceImport;
  expect(items).toMatchObject([
    { line: 3, outcome: 'refused', url: `${'x'.repeat(300)}…` },
    { line: 5, outcome: 'added' },
  ]);
});
