import {
  type CaptureMode,
  type ListFormat,
  MAX_LIST_ENTRIES,
  type NewSource,
  newSourceSchema,
} from '../../../../shared/collection/source.ts';
import { charsetInHtml } from '../../../../shared/values/htmlCharset.ts';
import { decodeTextFile } from '../../../charset.ts';
import { type ListedEntry, SourceListError } from './listedEntry.ts';
import { readBookmarks } from './readBookmarks.ts';
import { readCsvList } from './readCsvList.ts';
import { readOpml } from './readOpml.ts';
import { readText } from './readText.ts';

/** A list, or why it cannot be read. */
export type TriedList = { list: ParsedSourceList } | { refused: string };

/** Reads a list in the thread that calls it. */
export function tryToReadList(list: SourceList): TriedList {
  try {
    return { list: readSourceList(list) };
  } catch (error) {
    if (error instanceof SourceListError) return { refused: error.message };
    throw error;
  }
}

/** A valid entry, or the reason why an entry is invalid. */
type CheckedEntry = { line: number; url: string } & ({ source: NewSource } | { detail: string });

/** A list of sources as it was sent. */
export interface SourceList {
  form: ListFormat;
  bytes: Uint8Array;
  /** For the entries that do not say it. */
  capture?: CaptureMode | undefined;
}

export interface ParsedSourceList {
  entries: CheckedEntry[];
  ignoredColumns: string[];
}

/**
 * Reads a list of sources and validates each entry.
 *
 * @throws SourceListError if the encoding of the list is not known, or if it is not in the given format or too long.
 */
export function readSourceList({ form, bytes, capture }: SourceList): ParsedSourceList {
  const text = decoded(bytes, form);
  const { entries, ignoredColumns = [] } = READERS[form](text);
  const checked: CheckedEntry[] = [];
  for (const entry of entries) {
    if (checked.length === MAX_LIST_ENTRIES)
      throw new SourceListError(`The list has more than ${MAX_LIST_ENTRIES} entries. Send it in parts.`);
    checked.push(checkEntry(entry, capture));
  }
  return { entries: checked, ignoredColumns: ignoredColumns.slice(0, MAX_REPORTED_COLUMNS) };
}

/** Refused URLs are truncated to this length in the result. */
const MAX_REPORTED_CHARACTERS = 300;
const MAX_REPORTED_COLUMNS = 50;

type Read = { entries: Iterable<ListedEntry>; ignoredColumns?: string[] };

const READERS: Record<ListFormat, (text: string) => Read> = {
  text: (text) => ({ entries: readText(text) }),
  csv: readCsvList,
  opml: readOpml,
  bookmarks: (text) => ({ entries: readBookmarks(text) }),
};

function decoded(bytes: Uint8Array, form: ListFormat): string {
  const found = decodeTextFile(bytes, declaredEncoding(bytes, form));
  if (found === undefined)
    throw new SourceListError('The list is not UTF-8. Save it as UTF-8 and send it again.');
  return found.text;
}

/** Returns the encoding that a list says itself, as XML or HTML do. */
function declaredEncoding(bytes: Uint8Array, form: ListFormat): string | undefined {
  if (form === 'bookmarks') return charsetInHtml(bytes);
  const beginning = Buffer.from(bytes.subarray(0, 200)).toString('latin1');
  return form === 'opml' ? /^<\?xml[^>]*encoding\s*=\s*["']([^"']+)/.exec(beginning)?.[1] : undefined;
}

function checkEntry({ line, url, fields, unreadable }: ListedEntry, capture?: CaptureMode): CheckedEntry {
  const result = newSourceSchema.safeParse({ ...(capture && { capture }), ...fields, url });
  if (result.success && unreadable === undefined) return { line, url, source: result.data };
  const issue = result.error?.issues[0];
  return {
    line,
    url: url.length > MAX_REPORTED_CHARACTERS ? `${url.slice(0, MAX_REPORTED_CHARACTERS)}…` : url,
    detail: unreadable ?? `${issue?.path.join('.') ?? 'url'}: ${issue?.message ?? 'It cannot be read.'}`,
  };
}
