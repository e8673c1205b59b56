import { buffer } from 'node:stream/consumers';
import { TextDecoder } from 'node:util';
import { CsvError, parse } from 'csv-parse/sync';
import type { PackFile } from '../../shared/archive/pack.ts';
import { confirmDamage, type DamageContext, isBlobDamageError } from '../fixity/audit.ts';
import { isDamaged } from '../fixity/damages.ts';
import { type Reader, unreadable, unreadableAmong } from '../withholding/withholding.ts';

/** The maximum number of tables that are read, so that one request reads a few megabytes at most. */
const MAX_TABLES = 50;

/** A file of a pack, with its columns if it is a table. */
export interface DescribedFile {
  file: PackFile;
  /** A unique name among the files, of characters that every format accepts. */
  slug: string;
  table: TableDescription | undefined;
}

/** Returns the files of a pack with the columns of its tables that a reader may read, or undefined if none is a table. */
export async function readTables(
  store: DamageContext,
  files: readonly PackFile[],
  reader: Reader,
): Promise<DescribedFile[] | undefined> {
  if (!files.some(isTable)) return undefined;
  const slugs = uniqueSlugs(
    files.map(({ path }) => path),
    'file',
  );
  const described: DescribedFile[] = [];
  let left = MAX_TABLES;
  for (const [index, file] of files.entries()) {
    const table = isTable(file) && left > 0 ? await readTable(store, file, reader) : undefined;
    if (isTable(file)) left -= 1;
    described.push({ file, slug: slugs[index] ?? '', table });
  }
  // Each may have been withheld while it was read, or while a later one was.
  const tables = described.filter(({ table }) => table !== undefined).map(({ file }) => file.sha256);
  const hidden = unreadableAmong(store.read, tables, reader);
  return described.map((each) => (hidden.has(each.file.sha256) ? { ...each, table: undefined } : each));
}

/** Damaged bytes are not parsed. */
async function readTable(
  store: DamageContext,
  file: PackFile,
  reader: Reader,
): Promise<TableDescription | undefined> {
  if (file.bytes === 0 || isDamaged(store.read, file.sha256)) return undefined;
  if (unreadable(store.read, file.sha256, reader)) return undefined;
  try {
    const head = await buffer(store.blobs.read(file.sha256, { start: 0, end: HEAD_BYTES - 1 }));
    return parseHead(file, head);
  } catch (error) {
    if (!isBlobDamageError(error)) throw error;
    await confirmDamage(store, [file.sha256]);
    return undefined;
  }
}

/** Returns unique names of `a-z`, `0-9`, `.`, `_` and `-` for these texts, or `fallback` if nothing of a text remains. */
export function uniqueSlugs(texts: readonly string[], fallback: string): string[] {
  const taken = new Set<string>();
  // Where to go on counting for each base, so that thousands of equal ones take linear time.
  const counts = new Map<string, number>();
  return texts.map((text) => {
    const plain = text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
    const base = plain.replace(/[^a-z0-9._]+/g, '-').replace(/^[-.]+|[-.]+$/g, '') || fallback;
    let slug = base;
    let count = counts.get(base) ?? 2;
    for (; taken.has(slug); count += 1) slug = `${base}-${count}`;
    counts.set(base, count);
    taken.add(slug);
    return slug;
  });
}

/** The maximum number of bytes read of a table. */
const HEAD_BYTES = 65_536;
const MAX_ROWS = 100;
const MAX_COLUMNS = 1_000;

export interface TableDescription {
  delimiter: string;
  columns: Column[];
  /** How missing values are written. */
  missing: string[];
}

const MEDIA_TYPES = ['text/csv', 'application/csv', 'text/tab-separated-values'];

/** Returns whether a file is a table, by its media type or the extension of its name. */
export function isTable({ path, media_type }: Pick<PackFile, 'path' | 'media_type'>): boolean {
  return MEDIA_TYPES.includes(baseType(media_type)) || /\.(?:csv|tsv|tab)$/i.test(path);
}

function baseType(mediaType: string): string {
  return mediaType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

/**
 * Returns the columns of a table from its first bytes. The first line is the header, unless the media type says that
 * there is none (RFC 4180, section 3). Returns undefined if the bytes are not UTF-8 or not CSV, or name no columns.
 */
function parseHead(
  file: Pick<PackFile, 'path' | 'media_type' | 'bytes'>,
  head: Uint8Array,
): TableDescription | undefined {
  if (/;\s*header\s*=\s*"?absent/i.test(file.media_type)) return undefined;
  const text = decode(head);
  if (text === undefined) return undefined;
  const delimiter = delimiterOf(file, text);
  const [header = [], ...rows] = firstRecords(text, delimiter, head.length < file.bytes);
  if (header.length > MAX_COLUMNS) return undefined;
  const described = describeColumns(header, rows);
  return described && { delimiter, ...described };
}

/** Drops a character that is cut at the end of the head. */
function decode(head: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: true });
    return text.includes('\0') ? undefined : text;
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** Returns the complete records of the head. Records before an error count, unless the error is in the header. */
function firstRecords(text: string, delimiter: string, isCut: boolean): string[][] {
  const records: string[][] = [];
  try {
    parse(text, {
      bom: true,
      delimiter,
      relax_column_count: true,
      skip_empty_lines: true,
      to: MAX_ROWS + 1,
      on_record: (record: string[]) => void records.push(record),
    });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    return records;
  }
  // The last record of a truncated head may be incomplete.
  if (isCut && records.length <= MAX_ROWS) records.pop();
  return records;
}

const DELIMITERS = [',', ';', '\t', '|'];

/** Returns a tab if the file declares tabs, else the delimiter that is most frequent in the first line. */
function delimiterOf({ path, media_type }: Pick<PackFile, 'path' | 'media_type'>, text: string): string {
  if (baseType(media_type) === 'text/tab-separated-values' || /\.(?:tsv|tab)$/i.test(path)) return '\t';
  const first = (/^[^\r\n]*/.exec(text)?.[0] ?? '').replace(/"[^"]*"/g, '');
  const counts = DELIMITERS.map((delimiter) => first.split(delimiter).length);
  return DELIMITERS[counts.indexOf(Math.max(...counts))] ?? ',';
}

/** The type of a column, in the terms of Table Schema. */
export type ColumnType = 'integer' | 'number' | 'boolean' | 'date' | 'datetime' | 'string';

export interface Column {
  /** The name in the header. */
  name: string;
  type: ColumnType;
}

/** How missing values are written; R writes `NA`. */
const NOT_AVAILABLE = 'NA';

const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?$/;

/** The first type that fits every value is the type of the column. A value with a leading zero is a code, not a number. */
const TYPES: [ColumnType, (value: string) => boolean][] = [
  ['integer', (value) => /^[+-]?(?:0|[1-9]\d*)$/.test(value) && Number.isSafeInteger(Number(value))],
  ['number', (value) => /^[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:e[+-]?\d{1,3})?$/i.test(value)],
  ['boolean', (value) => /^(?:true|false)$/.test(value)],
  ['date', (value) => /^\d{4}-\d\d-\d\d$/.test(value) && isDay(value)],
  [
    'datetime',
    (value) => DATE_TIME.test(value) && isDay(value.slice(0, 10)) && !Number.isNaN(Date.parse(value)),
  ],
];

/**
 * Returns the columns of a table and how it writes missing values, from its header and first rows. Returns undefined if
 * the header has an empty or a repeated name, because readers select columns by name.
 */
function describeColumns(
  header: readonly string[],
  rows: readonly (readonly string[])[],
): { columns: Column[]; missing: string[] } | undefined {
  const names = new Set(header);
  if (header.length === 0 || names.size !== header.length || header.some((name) => name.trim() === '')) {
    return undefined;
  }
  let isNaMissing = false;
  const columns = header.map((name, index): Column => {
    const values = rows.map((row) => row[index] ?? '').filter((value) => value !== '');
    const available = values.filter((value) => value !== NOT_AVAILABLE);
    const type = typeOf(available);
    if (type !== 'string' && available.length < values.length) isNaMissing = true;
    return { name, type };
  });
  return { columns, missing: isNaMissing ? ['', NOT_AVAILABLE] : [''] };
}

function typeOf(values: readonly string[]): ColumnType {
  if (values.length === 0) return 'string';
  return TYPES.find(([, fits]) => values.every(fits))?.[0] ?? 'string';
}

/** JavaScript reads a day beyond the end of a month as a day of the next month. */
function isDay(date: string): boolean {
  const instant = Date.parse(`${date}T00:00:00Z`);
  return !Number.isNaN(instant) && new Date(instant).toISOString().startsWith(date);
}
