import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type Finding, Tally } from '../../server/verification/report.ts';
import { verifyPaths } from '../../server/verification/verifyPaths.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';

afterEach(closeTestNodes);

/*
 * Bags equivalent to those of the public conformance suite (LibraryOfCongress/bagit-conformance-suite), built from a
 * table. The names are those of the suite.
 */

/** A judgement: `warning` means intact, with a remark on a file. */
type Judgement = 'valid' | 'warning' | 'invalid';

interface Bag {
  version?: string;
  /** The whole text of `bagit.txt`, or null for none. */
  declaration?: string | null;
  algorithm?: string;
  files?: Record<string, string>;
  /** Lines of the manifest; by default one for each file of `files` in `data/`. */
  manifest?: string[];
  /** More tag files. They are listed in the tag manifest. */
  tags?: Record<string, string>;
  tagManifest?: boolean;
  /** Files of the bag that nothing lists. */
  unlisted?: Record<string, string>;
  encoding?: 'UTF-8' | 'ISO-8859-1' | 'UTF-16' | 'UTF-16LE' | 'UTF-16BE';
  /** Bytes that replace those of finished files; null removes a file. */
  after?: Record<string, string | null>;
}

const PAYLOAD = { 'data/bare-filename': 'bare\n', 'data/text-file.txt': 'text\n' };
const INFO = 'Source-Organization: A University\nContact-Name: Edna\n';
const digestOf = (text: string | Uint8Array, algorithm = 'md5') =>
  createHash(algorithm).update(text).digest('hex');
const line = (path: string, text: string, written = path) => `${digestOf(text)}  ${written}`;
const outside = (path: string) => [
  ...Object.entries(PAYLOAD).map(([name, text]) => line(name, text)),
  line(path, 'x'),
];
const fetched = (path: string) => ({ tags: { 'fetch.txt': `http://localhost/x 1 ${path}\n` } });
const [COMPOSED, DECOMPOSED] = ['data/N\u00fan\u0303ez'.normalize('NFC'), 'data/Núñez'.normalize('NFD')];

const CASES: [name: string, judgement: Judgement, bag: Bag][] = [
  ...['0.93', '0.94', '0.95'].flatMap((version): [string, Judgement, Bag][] => [
    [`v${version}/valid/basic-bag`, 'valid', { version, tags: { 'package-info.txt': INFO } }],
    [
      `v${version}/valid/duplicate-metadata-entries`,
      'valid',
      { version, tags: { 'package-info.txt': `${INFO}${INFO}Payload-Oxum: 10.2\n` } },
    ],
    [
      `v${version}/invalid oxum`,
      'invalid',
      { version, tags: { 'package-info.txt': 'Payload-Oxum: 11.2\n' } },
    ],
  ]),
  ...['0.96', '0.97', '1.0'].flatMap((version): [string, Judgement, Bag][] => [
    [`v${version}/valid/basic-bag`, 'valid', { version, tags: { 'bag-info.txt': INFO } }],
    [
      `v${version}/valid/duplicate-metadata-entries`,
      'valid',
      { version, tags: { 'bag-info.txt': INFO + INFO } },
    ],
  ]),
  ...['md5', 'sha1', 'sha224', 'sha256', 'sha512'].map((algorithm): [string, Judgement, Bag] => [
    `v0.97/valid/basic-bag-${algorithm}`,
    'valid',
    { algorithm },
  ]),
  ['v0.97/valid/minimal-bag', 'valid', { tagManifest: false }],
  ['v0.97/valid, without any file', 'valid', { tagManifest: false, files: {} }],
  ['v0.97/valid/bag-in-a-bag', 'valid', { files: { 'data/bag/bagit.txt': 'x', 'data/bag/data/a': 'a' } }],
  ['v0.97/valid/bag-with-space', 'valid', { files: { 'data/with  space .txt': 'x' } }],
  [
    'v0.97/valid/bag-with-leading-dot-slash-in-manifest',
    'warning',
    { manifest: Object.entries(PAYLOAD).map(([path, text]) => line(path, text, `./${path}`)) },
  ],
  [
    'v0.97/valid/bag-with-escapable-characters',
    'valid',
    { files: { 'data/a\nb': 'x' }, manifest: [line('', 'x', 'data/a%0Ab')] },
  ],
  ['v0.97/valid/bag-with-encoded-names', 'valid', { files: { 'data/100%25.txt': 'x', 'data/%41': 'y' } }],
  [
    'v1.0/valid, percent signs encoded',
    'valid',
    { version: '1.0', files: { 'data/100%.txt': 'x' }, manifest: [line('', 'x', 'data/100%25.txt')] },
  ],
  ['v1.0/valid, percent signs not encoded', 'warning', { version: '1.0', files: { 'data/100%25.txt': 'x' } }],
  [
    'v0.97/valid/uncommon-metadata-separators',
    'valid',
    { tags: { 'bag-info.txt': 'A:b\nC : d\nPayload-Oxum\t: 10.2\n' } },
  ],
  [
    'v0.97/valid/ISO-8859-1-encoded-tag-files',
    'valid',
    { encoding: 'ISO-8859-1', files: { 'data/Núñez\u0085': 'x' } },
  ],
  ...(['UTF-16', 'UTF-16LE', 'UTF-16BE'] as const).map((encoding): [string, Judgement, Bag] => [
    `v0.97/valid/UTF-16-encoded-tag-files (${encoding})`,
    'valid',
    { encoding, files: { 'data/Núñez 😀': 'x' }, tags: { 'bag-info.txt': 'Payload-Oxum: 1.1\n' } },
  ]),
  [
    'v0.97/valid/holey-bag',
    'valid',
    {
      unlisted: {
        'fetch.txt': 'http://localhost/a 5 data/bare-filename\nhttp://localhost/b - data/text-file.txt\n',
      },
    },
  ],
  ['v0.97/valid/local-fetch', 'valid', { tags: { 'fetch.txt': 'file:///tmp/a.png 42000 a.png\n' } }],
  [
    'v0.97/valid, each file in one of two manifests',
    'valid',
    {
      manifest: [line('data/bare-filename', 'bare\n')],
      tags: { 'manifest-sha1.txt': `${digestOf('text\n', 'sha1')}  data/text-file.txt\n` },
    },
  ],
  ['v0.97/invalid/baginfo-missing-encoding', 'invalid', { declaration: 'BagIt-Version: 0.97\n' }],
  [
    'v0.97/invalid/bagit-with-invalid-whitespace',
    'invalid',
    { declaration: declare('0.97').replace(':', ' :') },
  ],
  ['v0.97/invalid/bom-in-bagit.txt', 'invalid', { declaration: `\ufeff${declare('0.97')}` }],
  ['v0.97/invalid/corrupt-data-file', 'invalid', { after: { 'data/bare-filename': 'bore\n' } }],
  [
    'v0.97/invalid/corrupt-tag-file',
    'invalid',
    { tags: { 'bag-info.txt': INFO }, after: { 'bag-info.txt': `${INFO} ` } },
  ],
  ['v0.97/invalid/extra-file-in-bag', 'invalid', { unlisted: { 'data/bar': 'x' } }],
  ['v0.97/invalid/invalid-version-number', 'invalid', { declaration: declare('.97') }],
  [
    'v0.97/invalid, an unknown encoding',
    'invalid',
    { declaration: declare('0.97').replace('UTF-8', 'UTF-7') },
  ],
  [
    'v0.97/invalid, half a character of UTF-16',
    'invalid',
    { encoding: 'UTF-16', after: { 'manifest-md5.txt': 'x' } },
  ],
  [
    'v0.97/invalid/missing-baginfo',
    'invalid',
    { tags: { 'bag-info.txt': INFO }, after: { 'bag-info.txt': null } },
  ],
  ['v0.97/invalid/missing-bagit.txt', 'invalid', { declaration: null }],
  ['v0.97/invalid, a file missing', 'invalid', { after: { 'data/bare-filename': null } }],
  [
    'v0.97/invalid/same-filename-listed-twice-with-different-hashes',
    'invalid',
    { files: { 'data/a': 'a' }, manifest: [line('data/a', 'a'), line('data/a', 'b')] },
  ],
  [
    'v1.0/invalid/bagit-with-invalid-whitespace',
    'invalid',
    { declaration: declare('1.0').replace(':', ' :') },
  ],
  [
    'v1.0/invalid/missing-from-manifest',
    'invalid',
    {
      version: '1.0',
      tags: { 'manifest-sha1.txt': `${digestOf('text\n', 'sha1')}  data/text-file.txt\n` },
    },
  ],
  [
    'v1.0/invalid/same-filename-listed-twice-with-different-hashes',
    'invalid',
    { version: '1.0', files: { 'data/a': 'a' }, manifest: [line('data/a', 'a'), line('./data/a', 'b')] },
  ],
  ...Object.entries({
    'invalid/out-of-scope-file-paths-using-dot-notation': '../../../README.md',
    'invalid, dot notation in the middle': 'data/../../README.md',
    'linux-only/out-of-scope-file-paths-using-absolute-path': '/tmp/foo',
    'linux-only/out-of-scope-file-paths-using-shortcut': '~/foo',
    'linux-only/out-of-scope-file-paths-using-shortcut-username': '~root/foo',
    'windows-only/out-of-scope-file-paths-using-absolute-path': 'C:\\Windows\\System32\\setx.exe',
    'windows-only/out-of-scope-file-paths-using-shortcut': '%HomeDrive%\\Windows\\System32\\setx.exe',
    'windows-only/out-of-scope-file-paths-using-unc': '\\\\?\\UNC\\server\\Windows\\System32\\setx.exe',
  }).flatMap(([name, path]): [string, Judgement, Bag][] => [
    [`v0.97/${name}`, 'invalid', { manifest: outside(path) }],
    [`v0.97/${name}-for-fetch`, 'invalid', fetched(path)],
    [`v0.97/${name}-for-fetch, unlisted`, 'invalid', { unlisted: fetched(path).tags }],
  ]),
  ['v0.97/invalid, a malformed fetch.txt', 'invalid', { unlisted: { 'fetch.txt': 'http://localhost/a\n' } }],
  ['v0.97/darwin-only/precomposed-character-in-filename', 'valid', { files: { [COMPOSED]: 'x' } }],
  [
    'v0.97/warning/filename-normalization',
    'warning',
    { files: { [DECOMPOSED]: 'x' }, manifest: [`${digestOf('x')} ${COMPOSED}`] },
  ],
  [
    'v0.97/warning/same-filename-listed-twice-with-different-normalization',
    'warning',
    { files: { [COMPOSED]: '', [DECOMPOSED]: '' } },
  ],
  [
    'v0.97/warning/duplicate-file-with-different-case',
    'warning',
    { files: { 'data/a': 'x', 'data/A': 'y' } },
  ],
  [
    'v0.97/warning/same-filename-listed-twice-with-the-same-hash',
    'warning',
    { files: { 'data/a': 'a' }, manifest: [line('data/a', 'a'), line('data/a', 'a')] },
  ],
  [
    'v0.97/warning/made-with-md5sum-tools',
    'warning',
    { files: { 'data/hello.txt': 'x' }, manifest: [`${digestOf('x')} *data/hello.txt`] },
  ],
  [
    'v0.97/warning/relative-path',
    'warning',
    { files: { 'data/hello.txt': 'x' }, manifest: [line('', 'x', './data/hello.txt')] },
  ],
  [
    'v0.97/warning/special-system-files',
    'warning',
    { files: { 'data/.DS_Store': 'x', 'data/Thumbs.db': 'y', 'data/a': 'z' } },
  ],
];

function declare(version: string, encoding = 'UTF-8'): string {
  return `BagIt-Version: ${version}\nTag-File-Character-Encoding: ${encoding}\n`;
}

/** Encodes a tag file. UTF-16 has a byte order mark. */
function encode(text: string, encoding: Bag['encoding'] = 'UTF-8'): Buffer {
  if (encoding === 'UTF-8') return Buffer.from(text);
  if (encoding === 'ISO-8859-1') return Buffer.from(text, 'latin1');
  const bytes = Buffer.from(encoding === 'UTF-16' ? `\ufeff${text}` : text, 'utf16le');
  return encoding === 'UTF-16BE' ? bytes.swap16() : bytes;
}

async function build(bag: Bag): Promise<string> {
  const { version = '0.97', algorithm = 'md5', files = PAYLOAD, encoding } = bag;
  const all = new Map<string, Buffer>(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)]));
  const lines =
    bag.manifest ?? Object.entries(files).map(([path, text]) => `${digestOf(text, algorithm)}  ${path}`);
  const tags = new Map([
    ...Object.entries(bag.tags ?? {}).map(([name, text]) => [name, encode(text, encoding)] as const),
    [`manifest-${algorithm}.txt`, encode(lines.map((each) => `${each}\n`).join(''), encoding)],
  ]);
  if (bag.declaration !== null)
    tags.set('bagit.txt', Buffer.from(bag.declaration ?? declare(version, encoding)));
  for (const [name, bytes] of tags) all.set(name, bytes);
  if (bag.tagManifest !== false) {
    const listed = [...tags].map(([name, bytes]) => `${digestOf(bytes, algorithm)}  ${name}\n`).join('');
    all.set(`tagmanifest-${algorithm}.txt`, encode(listed, encoding));
  }
  for (const [name, text] of Object.entries(bag.unlisted ?? {})) all.set(name, encode(text, encoding));
  for (const [name, text] of Object.entries(bag.after ?? {})) {
    if (text === null) all.delete(name);
    else all.set(name, Buffer.from(text));
  }
  const folder = join(await temporaryFolder(), 'bag');
  await mkdir(join(folder, 'data'), { recursive: true });
  for (const [path, bytes] of all) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), bytes);
  }
  return folder;
}

async function judge(folder: string): Promise<{ judgement: Judgement; findings: Finding[] }> {
  const tally = new Tally();
  const findings: Finding[] = [];
  for await (const found of verifyPaths({ paths: [folder] })) {
    tally.add(found);
    findings.push(found);
  }
  const isRemarked = findings.some(({ path, detail }) => path !== folder && detail !== null);
  return { judgement: !tally.summary.ok ? 'invalid' : isRemarked ? 'warning' : 'valid', findings };
}

test.each(CASES)('%s is %s', async (_name, expected, bag) => {
  const { judgement, findings } = await judge(await build(bag));
  expect(judgement, JSON.stringify(findings, undefined, 1)).toBe(expected);
});

test('UTF-16 without a byte order mark is read in either order', async () => {
  for (const encoding of ['UTF-16LE', 'UTF-16BE'] as const) {
    const folder = await build({ encoding, declaration: declare('0.97', 'UTF-16') });
    expect((await judge(folder)).judgement).toBe('valid');
  }
});

test('a path that leaves the bag is named, and the file outside is not read', async () => {
  const folder = await build({ manifest: outside('../secret') });
  await writeFile(join(dirname(folder), 'secret'), 'x');
  const { findings } = await judge(folder);
  expect(findings.filter(({ state }) => state !== 'intact')).toMatchObject([
    { state: 'missing', sha256: null, detail: 'its path leaves the bag' },
  ]);
  const [fault] = (await judge(await build(fetched('~root/x')))).findings.filter(
    ({ state }) => state !== 'intact',
  );
  expect(fault).toMatchObject({ state: 'changed', detail: 'the path on line 1 leaves the bag' });
});
