import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { brotliDecompressSync, constants, inflateRawSync } from 'node:zlib';
import Database from 'better-sqlite3';
import type { Dice } from './dice.ts';

/*
 * Every byte string that a test puts into an archive carries a marker: a word of its own. Afterwards everything that
 * others can get, and every file, is searched for the markers of what is withheld or was released.
 */

const LETTERS = 8;
/** The letters that an index of texts may leave out: those that a word has in common with the word before it. */
const SHARED = 4;

/** Returns a word of 13 letters that is one word for the index of texts, and occurs nowhere else. */
export function newMarker(dice: Pick<Dice, 'letters'>): string {
  const letters = dice.letters(LETTERS);
  // Its end has all of its letters, so that it is found by its end, too.
  return letters + letters.slice(0, SHARED + 1);
}

/** Returns a function that finds markers in a text, also those that are in it only by their ends if `cut`. */
export function finderOf(markers: Iterable<string>, { cut = false } = {}): (text: string) => string[] {
  const known = new Map([...markers].map((marker) => [cut ? marker.slice(SHARED) : marker, marker]));
  if (known.size === 0) return () => [];
  const search = new RegExp([...known.keys()].join('|'), 'g');
  return (text) => [...new Set(text.match(search))].map((found) => known.get(found) ?? found);
}

/** Returns the text of a body and of everything that is compressed or encoded in it. */
export function everythingIn(body: Buffer): string {
  const texts = [body.toString('latin1'), ...inflatedIn(body)];
  for (const [encoded] of texts.join('\n').matchAll(/[A-Za-z0-9+/]{16,}={0,2}/g)) {
    const bytes = Buffer.from(encoded, 'base64');
    texts.push(bytes.toString('latin1'), ...inflatedIn(bytes));
    if (encoded.length >= 40 && encoded.length < 200_000)
      texts.push(tried(() => brotliDecompressSync(bytes)));
  }
  return texts.join('\n');
}

/** The beginnings of what is deflated, and the length of the header that each begins. What follows the end is no matter. */
const DEFLATED: readonly (readonly [start: Buffer, headerOf: (body: Buffer, at: number) => number])[] = [
  [Buffer.from([0x1f, 0x8b, 8]), gzipHeader],
  // What zlib compresses, as in PDF and in the database.
  ...[0x01, 0x5e, 0x9c, 0xda].map((level) => [Buffer.from([0x78, level]), () => 2] as const),
  // A local file of a ZIP. One that is stored is in the text as it is.
  [
    Buffer.from('PK\x03\x04', 'latin1'),
    (body, at) => (at + 30 > body.length ? 30 : 30 + body.readUInt16LE(at + 26) + body.readUInt16LE(at + 28)),
  ],
];

/** Optional parts of the header of a gzip member (RFC 1952, 2.3.1). */
const [HAS_CRC, HAS_EXTRA, HAS_NAME, HAS_COMMENT] = [2, 4, 8, 16];

function gzipHeader(body: Buffer, at: number): number {
  const flags = body[at + 3] ?? 0;
  let length = 10;
  if (flags & HAS_EXTRA && at + 12 <= body.length) length += 2 + body.readUInt16LE(at + 10);
  for (const flag of [HAS_NAME, HAS_COMMENT])
    if (flags & flag) length = Math.max(0, body.indexOf(0, at + length) - at) + 1;
  return length + (flags & HAS_CRC ? 2 : 0);
}

function inflatedIn(body: Buffer): string[] {
  const texts: string[] = [];
  for (const [start, headerOf] of DEFLATED)
    for (let at = body.indexOf(start); at !== -1; at = body.indexOf(start, at + 1)) {
      const data = body.subarray(at + headerOf(body, at));
      texts.push(tried(() => inflateRawSync(data, { finishFlush: constants.Z_SYNC_FLUSH })));
    }
  return texts;
}

function tried(decompress: () => Buffer): string {
  try {
    return decompress().toString('latin1');
  } catch {
    // These bytes only looked like compressed ones.
    return '';
  }
}

/**
 * Returns the files of a folder that hold markers, or their ends: a data folder for what was released, a copy with pages or
 * a log for what is withheld, too. What is compressed or encoded in a file is searched as well, and so is what is compressed
 * in the values of a database.
 *
 * @param isSearched which files are searched, by their path within the folder; all of them by default
 */
export async function markersInFolder(
  folder: string,
  markers: Iterable<string>,
  { isSearched = () => true }: { isSearched?: (path: string) => boolean } = {},
): Promise<{ marker: string; at: string }[]> {
  const find = finderOf(markers, { cut: true });
  const found: { marker: string; at: string }[] = [];
  const search = (at: string, text: string) => {
    for (const marker of find(text)) found.push({ marker, at });
  };
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    const at = relative(folder, file);
    if (!entry.isFile() || !isSearched(at)) continue;
    const bytes = await readIfThere(file);
    search(at, at.includes('.db') ? bytes.toString('latin1') : everythingIn(bytes));
    if (entry.name !== 'strongroom.db') continue;
    for (const [column, text] of valuesIn(file)) search(`${at}: ${column}`, text);
  }
  return found;
}

/** Returns what is in the values of a database that are bytes, by their columns. */
function valuesIn(file: string): [column: string, text: string][] {
  const database = new Database(file, { readonly: true });
  try {
    const sql = `SELECT t.name AS "table", c.name AS "column" FROM sqlite_schema t, pragma_table_info(t.name) c
      WHERE t.type = 'table' AND c.type = 'BLOB' AND t.sql NOT LIKE 'CREATE VIRTUAL%'`;
    const columns = database.prepare(sql).all() as { table: string; column: string }[];
    return columns.map(({ table, column }) => {
      const values = database.prepare(`SELECT "${column}" FROM "${table}"`).pluck().all();
      const texts = values.map((value) => (Buffer.isBuffer(value) ? everythingIn(value) : ''));
      return [`${table}.${column}`, texts.join('\n')];
    });
  } finally {
    database.close();
  }
}

/** A node that runs may remove a file meanwhile. */
async function readIfThere(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0);
    throw error;
  }
}
