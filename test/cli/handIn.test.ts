import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { HandIn } from '../../shared/collection/handedIn.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';
import { savedPage } from '../support/savedPages.ts';

afterEach(closeTestNodes);

const ADDRESS = 'https://mail.example/inbox';

async function newFile(words = 'Inbox'): Promise<{ file: string; there: string[] }> {
  const own = await temporaryFolder();
  const file = join(own, 'inbox.mhtml');
  const document = `<html><p>${words}</p></html>`;
  await writeFile(file, savedPage(ADDRESS, [{ type: 'text/html', location: ADDRESS, content: document }]));
  return { file, there: ['--data', join(own, 'data')] };
}

test('a file is kept with its digests, in the data folder or by the node that has it open', async () => {
  const { file, there } = await newFile();
  const { code, stdout, stderr } = await runHere(['hand-in', file, '--title', 'Mine', ...there]);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout.split('\n')).toEqual([
    expect.stringMatching(
      /^https:\/\/mail\.example\/inbox is kept as hi_[0-9a-f]{20}, handed in: this node did not fetch it\.$/,
    ),
    expect.stringMatching(/^file {6}[0-9a-f]{64}$/),
    expect.stringMatching(/^document {2}[0-9a-f]{64}$/),
    'Visitors may not read it.',
    '',
  ]);
  await openTestNode({ dataFolder: there[1] ?? '' });
  const other = await newFile('Outbox');
  const sent = await runHere(['hand-in', other.file, '--name', 'Ada', '--show', '--json', ...there]);
  expect([sent.code, sent.stderr]).toEqual([0, '']);
  expect(JSON.parse(sent.stdout) as HandIn).toMatchObject({
    url: ADDRESS,
    observer: 'handed-in:Ada',
    withheld: null,
  });
});

test('exits with 2 if a file cannot be kept', async () => {
  const { file, there } = await newFile();
  for (const args of [
    [],
    [file, file],
    ['/none.mhtml'],
    [file, '--seen-at', 'yesterday'],
    [file, '--url', 'ftp://x'],
  ]) {
    const { code, stderr } = await runHere(['hand-in', ...args, ...there]);
    expect(code, args.join(' ')).toBe(2);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  }
});
