import { createHash } from 'node:crypto';

/*
 * Bags equivalent to those of the public conformance suite (LibraryOfCongress/bagit-conformance-suite), built from a
 * table. The names are those of the suite.
 */

/** A judgement: `warning` means intact, with a remark on a file. */
export type Judgement = 'valid' | 'warning' | 'invalid';

export interface Bag {
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

/** The text of `bagit.txt`. */
export function declare(version: string, encoding = 'UTF-8'): string {
  return `BagIt-Version: ${version}\nTag-File-Character-Encoding: ${encoding}\n`;
}

export const PAYLOAD = { 'data/bare-filename': 'bare\n', 'data/text-file.txt': 'text\n' };
const INFO = 'Source-Organization: A University\nContact-Name: Edna\n';
export const digestOf = (text: string | Uint8Array, algorithm = 'md5') =>
  createHash(algorithm).update(text).digest('hex');
const line = (path: string, text: string, written = path) => `${digestOf(text)}  ${written}`;
export const outside = (path: string) => [
  ...Object.entries(PAYLOAD).map(([name, text]) => line(name, text)),
  line(path, 'x'),
];
export const fetched = (path: string) => ({ tags: { 'fetch.txt': `http://localhost/x 1 ${path}\n` } });
const [COMPOSED, DECOMPOSED] = ['data/N\u00fan\u0303ez'.normalize('NFC'), 'data/Núñez'.normalize('NFD')];

/** The cases of the suite: name, expected judgement, bag. */
export const CASES: [name: string, judgement: Judgement, bag: Bag][] = [
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
