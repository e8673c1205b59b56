import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Citation } from '../../shared/archive/citation.ts';
import type { Event } from '../../shared/collection/event.ts';
import { openCollectingNode } from '../collection/support.ts';
import { uploadNewPack } from '../support/archive/packs.ts';
import { type CommandResult, runCommand } from '../support/cli.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';

const PUBLIC = 'https://archive.example';

/** What each of these commands prints while a node has the data folder open, and what when none has. */
let printed: Record<'there' | 'here', CommandResult[]>;
let events: Event[];
let pack: string;
let data: string;

const commands = () => {
  const [first, second] = events.map(({ id }) => String(id));
  return [
    ['cite', second, '--format', 'robust_link'],
    ['cite', pack, '--format', 'ris'],
    ['cite', String(events[0]?.sha256)],
    ['cite', String(events[0]?.sha256), '--source', String(events[0]?.source.id), '--json'],
    ['diff', first, second],
    ['diff', String(events[2]?.sha256), String(events[3]?.sha256)],
    ['diff', first, String(events[0]?.sha256)],
    ['cite', '999999'],
    ['diff', first, 'f'.repeat(64)],
  ].map((words) => words.map(String));
};

beforeAll(async () => {
  data = join(await temporaryFolder(), 'data');
  const collecting = await openCollectingNode({ public_url: PUBLIC }, { dataFolder: data });
  const web = await ScriptedWeb.open();
  const html = { headers: { 'Content-Type': 'text/html' } };
  const csv = { headers: { 'Content-Type': 'text/csv' } };
  web.script('/fees', page('<p>The fee is 10 euros.', html), page('<p>The fee is 20 euros.', html));
  web.script('/fees.csv', page('kind,fee\na,1\nb,2\n', csv), page('kind,fee\na,1\nb,3\nc,4\n', csv));
  const sources = [await collecting.watch(web.url('/fees')), await collecting.watch(web.url('/fees.csv'))];
  for (const { id } of sources) for (let round = 0; round < 2; round += 1) await collecting.check([id]);
  events = (await collecting.events()).reverse();
  ({ id: pack } = await uploadNewPack(collecting.node, { title: 'Sea level' }));
  const runAll = async () => {
    const results: CommandResult[] = [];
    for (const words of commands()) results.push(await runHere([...words, '--data', data]));
    return results;
  };
  const there = await runAll();
  await collecting.node.close();
  printed = { there, here: await runAll() };
});
afterAll(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

test.each(['there', 'here'] as const)('an archive is cited, and versions are compared (%s)', (where) => {
  const [link, ris, apa, json, words, rows, same, unknown, absent] = printed[where];
  expect([link?.code, link?.stdout]).toEqual([
    0,
    expect.stringMatching(
      new RegExp(`^<a href=.* data-versionurl="${PUBLIC}/timeline/${events[1]?.id}".*</a>\n$`),
    ),
  ]);
  expect(ris?.stdout).toContain(`UR  - ${PUBLIC}/packs/${pack}\r\n`);
  expect(apa?.stdout).toMatch(/ Retrieved \w+ \d+, \d{4}, from http:\/\/.*\/fees\n$/);
  expect(JSON.parse(json?.stdout ?? '') as Citation).toMatchObject({ digest: events[0]?.sha256 });
  expect([words?.code, words?.stdout.split('\n')]).toEqual([
    1,
    ['1 passage, 1 word added, 1 removed', '', '@@ -1 +1 @@', 'The fee is [-10-]{+20+} euros.', ''],
  ]);
  expect([rows?.code, rows?.stdout.split('\n')]).toEqual([
    1,
    ['1 row added, 1 changed (1 cell)', '~ row 2 (b) fee: 2 → 3', '+ row 3 (c) kind: c, fee: 4', ''],
  ]);
  expect([same?.code, same?.stdout]).toEqual([0, 'The bytes are the same.\n']);
  expect([unknown?.code, unknown?.stderr]).toEqual([2, 'There is no such event.\n']);
  expect([absent?.code, absent?.stderr]).toEqual([
    2,
    `The archive has no bytes with the digest ${'f'.repeat(64)}.\n`,
  ]);
});

test('two files on this computer are compared without an archive', async () => {
  const folder = await temporaryFolder();
  const files = async (...contents: [name: string, content: string][]) => {
    for (const [name, content] of contents) await writeFile(join(folder, name), content);
    return contents.map(([name]) => join(folder, name));
  };
  const diff = async (words: string[]) => runHere(['diff', ...words, '--data', join(folder, 'none')]);
  const tables = await files(['a.csv', 'kind,fee\na,1\nb,2\n'], ['b.csv', 'kind,fee\na,1\nb,3\n']);
  expect(await diff(tables)).toMatchObject({
    code: 1,
    stdout: '1 row changed (1 cell)\n~ row 2 (b) fee: 2 → 3\n',
  });
  const texts = await files(['a.ts', 'The fee is 10 euros.'], ['b', 'The fee is 20 euros.']);
  const words = await diff([...texts, '--json']);
  expect(JSON.parse(words.stdout)).toMatchObject({ kind: 'text', from: { bytes: 20, content_type: null } });
  expect(await diff([texts[0] ?? '', texts[0] ?? ''])).toMatchObject({
    code: 0,
    stdout: 'The bytes are the same.\n',
  });
  expect(await diff([texts[0] ?? '', '1'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('1 is not a file. Compare two files, or two versions in the archive.'),
  });
  expect((await diff([texts[0] ?? '', join(folder, 'missing')])).code).toBe(2);
});

test('JSON has no character that acts on a terminal, and the same values', async () => {
  const folder = await temporaryFolder();
  const [a, b] = [join(folder, 'a.txt'), join(folder, 'b.txt')];
  const [colour, turned] = ['\u009b31m', '\u202Etuhs\u2028 \u{E0041}'];
  await writeFile(a, 'The gate is open.');
  await writeFile(b, `The gate${colour} ${turned}.`);
  const { stdout } = await runHere(['diff', a, b, '--json', '--data', join(folder, 'none')]);
  expect(stdout.trimEnd()).not.toMatch(/[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}]/u);
  const { hunks } = JSON.parse(stdout) as { hunks: { parts: { op: string; text: string }[] }[] };
  const added = hunks.flatMap(({ parts }) => parts.filter(({ op }) => op === 'added'));
  expect(added.map(({ text }) => text)).toEqual([colour, turned]);
});

test('a process of its own prints the differences before it ends', async () => {
  const folder = await temporaryFolder();
  const [a, b] = [join(folder, 'a.txt'), join(folder, 'b.txt')];
  await writeFile(a, 'The gate is open.');
  await writeFile(b, 'The gate is shut.');
  expect(await runCommand(['diff', a, b])).toEqual({
    code: 1,
    stdout: expect.stringContaining('The gate is [-open-]{+shut+}.'),
    stderr: '',
  });
  const [first, second] = events.map(({ id }) => String(id));
  expect(await runCommand(['diff', String(first), String(second), '--data', data])).toEqual({
    code: 1,
    stdout: expect.stringContaining('The fee is [-10-]{+20+} euros.'),
    stderr: '',
  });
});

test.each([
  [['cite']],
  [['cite', '1', '--format', 'endnote']],
  [['cite', '1', '--source', 'x']],
  [['diff', '1']],
  [['diff', '1', 'one']],
])('exits with 2 and one sentence at %j', async (words) => {
  const { code, stderr } = await runHere([...words, '--data', data]);
  expect([code, stderr.trimEnd().split('\n')]).toEqual([2, [expect.any(String)]]);
});
