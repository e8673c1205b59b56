import { CsvError, parse } from 'csv-parse/sync';
import { XMLParser } from 'fast-xml-parser';
import { Parser } from 'htmlparser2';
import {
  type CaptureMode,
  type ListFormat,
  MAX_LIST_ENTRIES,
  type NewSource,
  newSourceSchema,
} from '../../../../shared/collection/source.ts';

/** An entry of a list before validation. */
interface ListedEntry {
  line: number;
  url: string;
  /** The other fields of the source. */
  fields: Record<string, unknown>;
}

/** The list as a whole cannot be read. The message is a sentence for people. */
export class SourceListError extends Error {
  override name = 'SourceListError';
}

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

const MAX_COLUMNS = 200;
const MAX_ROW_CHARACTERS = 65_536;

/** The parsers of the columns. An empty cell leaves its field out. */
const COLUMNS: Readonly<Record<string, (cell: string) => unknown>> = {
  url: (cell) => cell,
  name: (cell) => cell,
  agency: (cell) => cell,
  tags: (cell) =>
    cell
      .split(/[;|]/)
      .map((tag) => tag.trim())
      .filter(Boolean),
  every_minutes: numberOf,
  max_object_mb: numberOf,
  capture: (cell) => cell.toLowerCase(),
  keep_days: numberOf,
  ignore_robots: (cell) => (/^(true|false)$/i.test(cell) ? /^true$/i.test(cell) : cell),
};

/**
 * Reads a CSV list (RFC 4180). The header names the columns in any order and case: `url` and the other `COLUMNS`.
 *
 * @throws SourceListError if the CSV is malformed, too large, or has no column `url`.
 */
function readCsv(text: string): { entries: ListedEntry[]; ignoredColumns: string[] } {
  // The parser limits the characters of a record, but not the number of its cells.
  if (countMarks(text, '\n', text.length).longest > MAX_ROW_CHARACTERS)
    throw new SourceListError(`The CSV has a line of more than ${MAX_ROW_CHARACTERS} characters.`);
  let names: string[] | undefined;
  const entries: ListedEntry[] = [];
  // Row by row, so that the cells of ignored columns are not kept in memory.
  forEachRow(text, (cells, line) => {
    if (names) entries.push(entryOf(names, cells, line));
    else names = requireNames(cells);
  });
  return {
    entries,
    ignoredColumns: (names ?? requireNames([])).filter((name) => !Object.hasOwn(COLUMNS, name)),
  };
}

function requireNames(header: readonly string[]): string[] {
  if (header.length > MAX_COLUMNS) throw new SourceListError(`The CSV has more than ${MAX_COLUMNS} columns.`);
  const names = header.map((name) => name.trim().toLowerCase());
  if (!names.includes('url')) {
    throw new SourceListError(
      `The CSV has no column url in its header. The columns are: ${Object.keys(COLUMNS).join(', ')}.`,
    );
  }
  const twice = names.find((name, index) => name !== '' && names.indexOf(name) !== index);
  if (twice !== undefined) throw new SourceListError(`The CSV has two columns ${JSON.stringify(twice)}.`);
  return names;
}

/** @param onRow called with the cells of each row and the line it ends on. */
function forEachRow(text: string, onRow: (cells: string[], line: number) => void): void {
  try {
    parse(text, {
      relax_column_count: true,
      skip_empty_lines: true,
      max_record_size: MAX_ROW_CHARACTERS,
      // The header, and one entry more than allowed.
      to: MAX_LIST_ENTRIES + 2,
      on_record: (record: string[], { lines }) => {
        onRow(record, lines);
        return null;
      },
    });
  } catch (error) {
    if (error instanceof CsvError) throw new SourceListError(`The CSV cannot be read: ${error.message}.`);
    throw error;
  }
}

function entryOf(names: readonly string[], cells: readonly string[], line: number): ListedEntry {
  const fields: Record<string, unknown> = {};
  let url = '';
  for (const [index, name] of names.entries()) {
    const cell = (cells[index] ?? '').trim();
    const read = Object.hasOwn(COLUMNS, name) ? COLUMNS[name] : undefined;
    if (cell === '' || read === undefined) continue;
    if (name === 'url') url = cell;
    else fields[name] = read(cell);
  }
  return { line, url, fields };
}

/** Returns the cell as a number, or unchanged if it is none. Validation then refuses it. */
function numberOf(cell: string): unknown {
  return /^\d+(\.\d+)?$/.test(cell) ? Number(cell) : cell;
}

type Outline = { outline?: Outline[] } & Record<string, unknown>;

/** The attributes that may hold the URL, in order of preference. Their case is ignored. */
const URL_ATTRIBUTES = ['xmlurl', 'htmlurl', 'url'] as const;

/**
 * Reads an OPML list as exported by feed readers. Each outline with a URL is a source; the titles of the outlines around
 * it are its tags.
 *
 * @throws SourceListError if it is not OPML, too large, or has a document type, which could define nested entities.
 */
function readOpml(text: string): { entries: ListedEntry[] } {
  if (/<!DOCTYPE/i.test(text))
    throw new SourceListError('A document type is not allowed. Remove <!DOCTYPE …>.');
  requireWithinLimits(text);
  const lineOf = lineCounter(text);
  const entries: ListedEntry[] = [];
  // An explicit stack, because the nesting depth is not limited.
  const open = [...outlinesOf(text)].reverse().map((outline) => ({ outline, tags: [] as string[] }));
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { outline, tags } = next;
    const attributes = attributesOf(outline);
    const name = attributes.get('title') || attributes.get('text') || '';
    const url = URL_ATTRIBUTES.map((key) => attributes.get(key)).find(Boolean);
    if (url !== undefined) entries.push({ line: lineOf(outline), url, fields: { name, tags } });
    const inner = url === undefined && name !== '' && !tags.includes(name) ? [...tags, name] : tags;
    for (const child of [...(outline.outline ?? [])].reverse()) open.push({ outline: child, tags: inner });
  }
  return { entries };
}

/** Limits of the parser's memory use: parsed tags and attributes are many times larger than their text. */
const MAX_TAGS = 60_000;
const MAX_EQUAL_SIGNS = 200_000;
const MAX_TAG_CHARACTERS = 65_536;

function requireWithinLimits(text: string): void {
  const tags = countMarks(text, '<', MAX_TAGS);
  if (tags.count > MAX_TAGS || countMarks(text, '=', MAX_EQUAL_SIGNS).count > MAX_EQUAL_SIGNS)
    throw new SourceListError('The list has too many tags and attributes. Send it in parts.');
  if (tags.longest > MAX_TAG_CHARACTERS)
    throw new SourceListError(`The list has a tag or text of more than ${MAX_TAG_CHARACTERS} characters.`);
}

function outlinesOf(text: string): Outline[] {
  const parser = new XMLParser({
    ignoreAttributes: false,
    attributeNamePrefix: '@',
    parseAttributeValue: false,
    processEntities: false,
    captureMetaData: true,
    isArray: (name) => name === 'outline',
  });
  let document: { opml?: { body?: Outline } };
  try {
    document = parser.parse(text, true) as typeof document;
  } catch (error) {
    throw new SourceListError(
      `The list is not valid XML: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  if (typeof document.opml !== 'object') throw new SourceListError('The list is not OPML: it has no <opml>.');
  return document.opml.body?.outline ?? [];
}

function attributesOf(outline: Outline): Map<string, string> {
  return new Map(
    Object.entries(outline)
      .filter(([name]) => name.startsWith('@'))
      .map(([name, value]) => [name.slice(1).toLowerCase(), unescaped(String(value)).trim()]),
  );
}

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** Decodes XML's five predefined entities and numeric character references. */
function unescaped(value: string): string {
  return value.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w+));/gi, (whole, hex, decimal, name) => {
    if (name !== undefined) return NAMED[String(name)] ?? whole;
    const code = hex === undefined ? Number(decimal) : Number.parseInt(String(hex), 16);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

/** Returns a function that gives an outline's first line. It must be called in document order. */
function lineCounter(text: string): (outline: Outline) => number {
  const metadata = XMLParser.getMetaDataSymbol() as unknown as symbol;
  let [line, counted] = [1, 0];
  return (outline) => {
    const found = (outline as Record<symbol, { startIndex?: number } | undefined>)[metadata];
    for (const end = found?.startIndex ?? counted; counted < end; counted += 1) {
      if (text[counted] === '\n') line += 1;
    }
    return line;
  };
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
 * @throws SourceListError if the list is not UTF-8, not in the given format, or too long.
 */
export function readSourceList({ form, bytes, capture }: SourceList): ParsedSourceList {
  const text = decoded(bytes);
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
  csv: readCsv,
  opml: readOpml,
  bookmarks: (text) => ({ entries: readBookmarks(text) }),
};

function decoded(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new SourceListError('The list is not UTF-8. Save it as UTF-8 and send it again.');
  }
}

function checkEntry({ line, url, fields }: ListedEntry, capture?: CaptureMode): CheckedEntry {
  const result = newSourceSchema.safeParse({ ...(capture && { capture }), ...fields, url });
  if (result.success) return { line, url, source: result.data };
  const [issue] = result.error.issues;
  return {
    line,
    url: url.length > MAX_REPORTED_CHARACTERS ? `${url.slice(0, MAX_REPORTED_CHARACTERS)}…` : url,
    detail: `${issue?.path.join('.') ?? 'url'}: ${issue?.message ?? 'It cannot be read.'}`,
  };
}

/** Yields the URLs of a text list, one per line. Lines that begin with `#` are comments. */
function* readText(text: string): Generator<ListedEntry> {
  let line = 0;
  for (let start = 0; start <= text.length; ) {
    const end = endOfLine(text, start);
    line += 1;
    const url = text.slice(start, end).trim();
    if (url !== '' && !url.startsWith('#')) yield { line, url, fields: {} };
    start = end + (text.startsWith('\r\n', end) ? 2 : 1);
  }
}

function endOfLine(text: string, start: number): number {
  for (let at = start; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x0a || code === 0x0d) return at;
  }
  return text.length;
}

/**
 * Counts the occurrences of a character and the longest distance between two of them, in characters. Stops as soon as
 * the count exceeds `max`.
 */
function countMarks(text: string, mark: string, max: number): { count: number; longest: number } {
  let [count, longest, start] = [0, 0, 0];
  while (count <= max) {
    const at = text.indexOf(mark, start);
    longest = Math.max(longest, (at === -1 ? text.length : at) - start);
    if (at === -1) break;
    count += 1;
    start = at + 1;
  }
  return { count, longest };
}

/** What a title or a tag may have at most; browsers keep longer ones. */
const MAX_NAME = 200;
const MAX_TAG = 100;
const MAX_BOOKMARK_TAGS = 50;

/**
 * Reads the bookmarks that a browser exported (Netscape HTML). The title of a bookmark is its name; the folders around it
 * and its own `TAGS` are its tags.
 *
 * @throws SourceListError if it is another kind of HTML.
 */
function readBookmarks(text: string): ListedEntry[] {
  if (!/^\ufeff?\s*<!DOCTYPE NETSCAPE-Bookmark-file-1/i.test(text))
    throw new SourceListError(
      'The HTML is not a list of bookmarks: it does not begin with <!DOCTYPE NETSCAPE-Bookmark-file-1>.',
    );
  const entries: ListedEntry[] = [];
  const folders: string[] = [];
  // The list that follows a heading is what is in that folder.
  let heading = '';
  let open: { entry?: ListedEntry; own: string[]; title: string } | undefined;
  let [line, counted] = [1, 0];
  const parser = new Parser({
    onopentag(name, attributes) {
      if (name === 'dl') {
        folders.push(heading);
        heading = '';
      } else if (name === 'h3') open = { own: [], title: '' };
      else if (name === 'a' && attributes.href !== undefined && entries.length <= MAX_LIST_ENTRIES) {
        for (const end = parser.startIndex; counted < end; counted += 1)
          if (text[counted] === '\n') line += 1;
        const entry: ListedEntry = { line, url: attributes.href.trim(), fields: {} };
        entries.push(entry);
        open = { entry, own: (attributes.tags ?? '').split(','), title: '' };
      }
    },
    ontext(data) {
      if (open && open.title.length <= MAX_NAME) open.title += data;
    },
    onclosetag(name) {
      if (name === 'dl') folders.pop();
      else if (open && (name === 'h3' || name === 'a')) {
        const { entry, own, title } = open;
        if (entry) entry.fields = { name: cut(title, MAX_NAME), tags: tagsOf([...folders, ...own]) };
        else heading = title;
        open = undefined;
      }
    },
  });
  parser.end(text);
  return entries;
}

function tagsOf(names: readonly string[]): string[] {
  return [...new Set(names.map((name) => cut(name, MAX_TAG)).filter(Boolean))].slice(0, MAX_BOOKMARK_TAGS);
}

function cut(text: string, max: number): string {
  return Array.from(text.replace(/\s+/g, ' ').trim()).slice(0, max).join('').trim();
}
