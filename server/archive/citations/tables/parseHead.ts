import { TextDecoder } from 'node:util';
import { CsvError, parse } from 'csv-parse/sync';
import type { PackFile } from '../../../../shared/archive/pack.ts';
import { type Column, describeColumns } from './columns.ts';

/** The maximum number of bytes read of a table. */
export const HEAD_BYTES = 65_536;
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
export function parseHead(
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
