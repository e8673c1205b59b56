import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { plainSentence } from '../../server/cli/main.ts';
import { type CommandResult, runCommand } from '../support/cli.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';

let folder: string;
/** A closed archive. */
let data: string;

beforeEach(async () => {
  folder = await temporaryFolder();
  const node = await openTestNode();
  data = node.dataFolder;
  await node.close();
  await mkdir(join(folder, 'empty'));
  await mkdir(join(folder, 'pack'));
  await writeFile(join(folder, 'pack', 'a.txt'), 'a');
  await writeFile(join(folder, 'file.txt'), 'not a folder');
  await writeFile(join(folder, 'bad.json'), '{"title": ');
  await writeFile(join(folder, 'wrong.json'), '{"title": 7, "authors": "nobody"}');
  await writeFile(join(folder, 'binary.bin'), Buffer.from([0, 255, 254, 1, 2, 3]));
  await writeFile(join(folder, 'bad.zip'), 'PK\u0003\u0004 not a ZIP file');
  await writeFile(join(folder, 'bad.warc'), 'WARC/1.0\r\nnot a header\r\n\r\n');
  await writeFile(join(folder, 'bad.jsonl'), '{"kind":"header"}\n');
  await writeFile(join(folder, 'bad.csv'), 'name\nno column of that name\n');
  await symlink('loop', join(folder, 'loop'));
});
afterEach(closeTestNodes);

const RAW = [
  /\bE[A-Z]{3,}(?:_[A-Z]+)*\b(?<!\bEXIT\b)/,
  /getaddrinfo|syscall|errno|SQLITE_|SqliteError/,
  /\n\s+at .*:\d+:\d+/,
  /ZodError|invalid_type|Invalid input|expected string, received|Unrecognized key|Too (?:big|small):/,
  /\[object |undefined|Unexpected (?:token|end)|JSON at position/,
];

function expectPlain(words: readonly string[], { code, stdout, stderr }: CommandResult): void {
  const text = stdout + stderr;
  for (const raw of RAW) expect(text, words.join(' ')).not.toMatch(raw);
  expect([1, 2], `${words.join(' ')} printed ${text}`).toContain(code);
  expect(text.trim(), words.join(' ')).not.toBe('');
}

function realWords(words: readonly string[]): string[] {
  return words.map((word) => word.replace(/^F(?=\/)/, folder).replace(/^D$/, data));
}

/** D is a closed archive, F the folder with the wrong files. */
const FAILURES: string[][] = [
  ['serve', '--data', 'F/file.txt'],
  ['serve', '--data', 'F/file.txt/below'],
  ['serve', '--data', 'D', '--port', '0', '--host', 'no-such-host.invalid'],
  ['serve', '--data', 'D', '--port', '0', '--host', '192.0.2.1'],
  ['serve', '--data', 'D', '--port', '70000'],
  ['serve', '--data', 'D', '--port', '0', '--token-file', 'F/empty'],
  ['serve', '--data', 'D', '--public-url', 'nonsense'],
  ['serve', '--unknown'],
  ['sign-in', '--data', 'F/nowhere'],
  ['sign-in', '--data', 'D', '--url', 'http://no-such-host.invalid:1'],
  ['sign-in', '--data', 'D', '--url', 'http://127.0.0.1:1'],
  ['sign-in', '--data', 'D', '--url', 'nonsense'],
  ['sign-in', '--data', 'D', '--token-file', 'F/empty'],
  ['watch'],
  ['watch', 'nonsense', '--data', 'D'],
  ['watch', '--list', 'F/nowhere.txt', '--data', 'D'],
  ['watch', '--list', 'F/empty', '--data', 'D'],
  ['watch', '--list', 'F/bad.csv', '--data', 'D'],
  ['watch', '--list', 'F/loop', '--data', 'D'],
  ['watch', 'https://example.org/', '--data', 'F/file.txt'],
  ['check', '--data', 'F/nowhere'],
  ['check', '--data', 'F/file.txt'],
  ['pack', 'F/nowhere'],
  ['pack', 'F/pack', '--record', 'F/bad.json'],
  ['pack', 'F/pack', '--record', 'F/wrong.json'],
  ['pack', 'F/pack', '--record', 'F/binary.bin'],
  ['pack', 'F/pack', '--record', 'F/empty'],
  ['pack', 'F/pack', '--record', 'F/good.json', '-o', 'F/empty'],
  ['pack', 'F/pack', '--record', 'F/good.json', '-o', 'F/file.txt/x.zip'],
  ['verify'],
  ['verify', 'F/nowhere'],
  ['verify', 'F/bad.zip'],
  ['verify', 'F/bad.jsonl'],
  ['verify', 'F/file.txt', '--sums', 'F/nowhere'],
  ['verify', 'F/file.txt', '--sums', 'F/binary.bin'],
  ['verify', 'F/file.txt', '--against', 'http://127.0.0.1:1'],
  ['verify', 'F/file.txt', '--against', 'http://no-such-host.invalid'],
  ['verify', 'F/file.txt', '--against', 'F/empty'],
  ['verify', 'F/loop'],
  ['ledger'],
  ['ledger', 'verify', '--data', 'F/nowhere'],
  ['ledger', 'verify', '--data', 'F/file.txt'],
  ['ledger', 'verify', '--data', 'D', '--checkpoint', 'F/nowhere'],
  ['ledger', 'verify', '--data', 'D', '--checkpoint', 'F/empty'],
  ['ledger', 'verify', '--data', 'D', '--checkpoint', 'F/binary.bin'],
  ['audit', '--data', 'F/nowhere'],
  ['audit', '--data', 'F/file.txt'],
  ['import'],
  ['import', 'F/nowhere', '--data', 'F/new'],
  ['import', 'F/empty', '--data', 'F/new'],
  ['import', 'F/loop', '--data', 'F/new'],
  ['import', 'F/bad.zip', '--data', 'F/new'],
  ['import', 'F/bad.warc', '--data', 'F/new'],
  ['import', 'F/bad.jsonl', '--data', 'F/other'],
  ['import', 'F/bad.json', '--data', 'F/other'],
  ['import', 'F/binary.bin', '--data', 'F/other'],
  ['import', 'F/file.txt', '--data', 'F/other'],
  ['import', 'F/bad.jsonl', '--data', 'D'],
  ['import', 'F/bad.zip', '--data', 'F/file.txt'],
  ['import', 'F/bad.warc', '--data', 'F/file.txt/below'],
  ['import', 'F/bad.jsonl', '--data', 'F/file.txt'],
  ['import', 'F/bad.warc', '--observer', '', '--data', 'F/new'],
  ['export', '--data', 'F/nowhere'],
  ['export', '--data', 'D', '--out', 'F/nowhere/x.zip'],
  ['export', '--data', 'D', '--out', 'F/file.txt/x.zip'],
  ['export', '--data', 'D', '--out', 'F/empty'],
  ['rebuild'],
  ['rebuild', 'F/nowhere'],
  ['rebuild', 'F/file.txt'],
  ['rebuild', 'F/empty'],
  ['rebuild', 'D', '--dump', 'F/nowhere'],
  ['rebuild', 'F/empty', '--dump', 'F/bad.jsonl'],
  ['rebuild', 'F/empty', '--dump', 'F/pack'],
  ['key', '--data', 'F/nowhere'],
  ['key', '--data', 'F/file.txt'],
  ['nonsense'],
];

test('every failure is reported in plain words and ends with exit code 1 or 2', async () => {
  await writeFile(
    join(folder, 'good.json'),
    JSON.stringify({
      pack_format: 1,
      terms_version: '2026-10-01',
      title: 'Good',
      authors: [{ name: 'Ada Lovelace' }],
      license: 'CC0-1.0',
      outcome: 'positive',
    }),
  );
  const real = FAILURES.map(realWords);
  for (const [at, words] of FAILURES.entries()) expectPlain(words, await runHere(real[at] ?? []));
});

test.each([
  [['serve', '--data', 'D', '--port', '0', '--host', 'no-such-host.invalid']],
  [['import', 'F/empty', '--data', 'F/new']],
])('%j as a process', async (words) => {
  expectPlain(words, await runCommand(realWords(words)));
});

test('a data folder whose files are damaged is reported in plain words', async () => {
  await writeFile(join(data, 'owner-token'), 'a token');
  await writeFile(join(data, 'listening'), '{"url": 7');
  expectPlain(['sign-in', 'bad JSON'], await runHere(['sign-in', '--data', data]));
  await writeFile(join(data, 'listening'), '{"url": 7}');
  expectPlain(['sign-in', 'wrong form'], await runHere(['sign-in', '--data', data]));
  await writeFile(join(data, 'strongroom.db'), 'not a database');
  for (const words of [
    ['audit'],
    ['ledger', 'verify'],
    ['export', '--out', join(folder, 'x.zip')],
    ['key'],
    ['check'],
  ])
    expectPlain(words, await runHere([...words, '--data', data]));
});

test.each([
  'ENOSPC',
  'EDQUOT',
  'SQLITE_FULL',
  'EIO',
  'EROFS',
  'EMFILE',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'EXDEV',
])('%s is explained without its code', (code) => {
  const error = Object.assign(new Error(`${code}: reported by the system, open '/x'`), { code, path: '/x' });
  const sentence = plainSentence(error);
  expect(sentence).toMatch(/^[A-Z/].*\.$/);
  for (const raw of RAW) expect(sentence).not.toMatch(raw);
});
