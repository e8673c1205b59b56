import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync } from 'node:zlib';
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
  const texts = [body.toString('latin1')];
  const unpack = (start: Buffer, read: (at: number) => string) => {
    for (let at = body.indexOf(start); at !== -1; at = body.indexOf(start, at + 1)) texts.push(read(at));
  };
  unpack(GZIP, (at) => tried(() => gunzipSync(body.subarray(at))));
  for (const start of ZLIB) unpack(start, (at) => tried(() => inflateSync(body.subarray(at))));
  unpack(LOCAL_FILE, (at) => zipped(body, at));
  for (const [encoded] of texts.join('\n').matchAll(/[A-Za-z0-9+/]{16,}={0,2}/g)) {
    const bytes = Buffer.from(encoded, 'base64');
    texts.push(bytes.toString('latin1'));
    if (bytes.indexOf(GZIP) === 0) texts.push(tried(() => gunzipSync(bytes)));
    if (encoded.length >= 40 && encoded.length < 200_000)
      texts.push(tried(() => brotliDecompressSync(bytes)));
  }
  return texts.join('\n');
}

const GZIP = Buffer.from([0x1f, 0x8b]);
/** The beginnings of what zlib compresses, as in PDF and in the database. */
const ZLIB = [0x01, 0x5e, 0x9c, 0xda].map((level) => Buffer.from([0x78, level]));
/** The signature of a local file of a ZIP. */
const LOCAL_FILE = Buffer.from('PK\x03\x04', 'latin1');

/** Returns what a local file of a ZIP contains, if it is deflated; one that is stored is in the text as it is. */
function zipped(body: Buffer, at: number): string {
  if (at + 30 > body.length || body.readUInt16LE(at + 8) === 0) return '';
  const start = at + 30 + body.readUInt16LE(at + 26) + body.readUInt16LE(at + 28);
  return tried(() => inflateRawSync(body.subarray(start), { finishFlush: 2 }));
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
