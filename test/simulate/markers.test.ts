import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import Database from 'better-sqlite3';
import { afterEach, expect, test } from 'vitest';
import { buildZip } from '../support/archive/zipBuilder.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';
import { Dice } from './dice.ts';
import { everythingIn, finderOf, markersInFolder, newMarker } from './markers.ts';

/* Tests that find nothing are worth something only if what they search with finds. */

afterEach(closeTestNodes);

const dice = new Dice(1);
const [marker, other] = [newMarker(dice), newMarker(dice)];
const text = Buffer.from(`Words before the ${marker} and after it.`);

test.each<[string, Buffer]>([
  ['as they are', text],
  ['with gzip, within other bytes', Buffer.concat([Buffer.alloc(99, 7), gzipSync(text), Buffer.from('PK')])],
  ['with gzip, after another member', Buffer.concat([gzipSync('A'), gzipSync(text), Buffer.from('\nend')])],
  ['with zlib', Buffer.concat([Buffer.from('stream\n'), deflateSync(text), Buffer.from('\nendstream')])],
  ['in a ZIP', buildZip([{ name: 'a.txt', data: text, method: 8 }])],
  ['in Base64', Buffer.from(`{"content":"${text.toString('base64')}"}`)],
  ['with gzip, in Base64', Buffer.from(`"${gzipSync(text).toString('base64')}"`)],
  ['with Brotli, in Base64', Buffer.from(`"${brotliCompressSync(text).toString('base64')}"`)],
])('a marker is found in bytes that are written %s', (_name, body) => {
  expect(finderOf([other, marker])(everythingIn(body))).toEqual([marker]);
  expect(finderOf([other])(everythingIn(body))).toEqual([]);
  expect(finderOf([])(everythingIn(body))).toEqual([]);
});

test('a marker without its first letters is found where they may be left out', () => {
  const shortened = `\u0004${marker.slice(4)}\u0000`;
  expect(finderOf([marker])(shortened)).toEqual([]);
  expect(finderOf([marker, other], { cut: true })(shortened)).toEqual([marker]);
});

test('markers are found in files and in the values of a database', async () => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'sub'));
  await writeFile(join(folder, 'sub', 'a.gz'), gzipSync(text));
  const database = new Database(join(folder, 'strongroom.db'));
  database.exec('CREATE TABLE documents (content BLOB) STRICT');
  database.prepare('INSERT INTO documents VALUES (?)').run(deflateSync(text));
  database.close();
  const found = await markersInFolder(folder, [marker, other]);
  expect(found.map(({ at }) => at).sort()).toEqual(['strongroom.db: documents.content', join('sub', 'a.gz')]);
  const isSearched = (path: string) => !path.endsWith('.db');
  expect(await markersInFolder(folder, [marker], { isSearched })).toHaveLength(1);
});
