import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type Finding, Tally } from '../../server/verification/report.ts';
import { verifyPaths } from '../../server/verification/verifyPaths.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';
import {
  type Bag,
  CASES,
  declare,
  digestOf,
  fetched,
  type Judgement,
  outside,
  PAYLOAD,
} from './conformanceBags.ts';

afterEach(closeTestNodes);

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
  for await (const found of verifyPaths({ paths: [folder] })) findings.push(...found);
  for (const found of findings) tally.add(found);
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
