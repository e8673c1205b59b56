import { setImmediate } from 'node:timers/promises';
import LinkHeader from 'http-link-header';
import { instantSchema } from '../../../shared/text.ts';
import { mementoUrlFromIndex } from './rawMementoUrl.ts';

/** One capture that a TimeMap lists. */
export interface ListedMemento {
  uri: string;
  /** When it was taken, as the TimeMap says; null where it does not. */
  at: string | null;
  /** The address that it is a capture of, where the list says so for each. */
  original: string | null;
}

/** One page of a TimeMap. */
export interface TimeMapPage {
  /** The address whose captures these are. */
  original: string | null;
  mementos: ListedMemento[];
  /** Where more of it is. */
  more: string[];
}

/** A document that is no TimeMap in any form that is read here. */
export class InvalidTimeMapError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'InvalidTimeMapError';
  }
}

/**
 * Reads one page of a TimeMap: link format (RFC 7089, section 5), JSON as archives write it beside that, or the rows
 * of an archive's index (CDX) in JSON.
 *
 * @param url where it was read. @throws InvalidTimeMapError
 */
export async function readTimeMap(text: string, url: string): Promise<TimeMapPage> {
  const beginning = text.trimStart().slice(0, 1);
  if (beginning === '<') return readLinks(text, url);
  if (beginning !== '[' && beginning !== '{')
    throw new InvalidTimeMapError('It is neither link format nor JSON.');
  const rows = rowsOf(text);
  if (rows) {
    const mementos = await eachInTurn(rows, (row) => mementoOfRow(row, url));
    return { original: null, more: [], mementos };
  }
  return readJsonMap(parsed(text), url);
}

/** So long at a stretch, then other work is let in between. */
const LONGEST_STRETCH_MS = 10;
/** So many mementos are read of one page. */
const MOST_MEMENTOS = 200_000;
/** So many links to further pages; no TimeMap has more than one or two. */
const MOST_FURTHER_PAGES = 100;
/** The parser of links may take the square of a link's length. */
const MAX_LINK_CHARACTERS = 8_192;

/** What all of them come to, read a stretch at a time. @throws InvalidTimeMapError where that is too much. */
async function eachInTurn<Part, Result>(
  parts: Iterable<Part>,
  read: (part: Part) => readonly Result[],
): Promise<Result[]> {
  const results: Result[] = [];
  let since = performance.now();
  for (const part of parts) {
    results.push(...read(part));
    if (results.length > MOST_MEMENTOS)
      throw new InvalidTimeMapError(`It lists more than ${MOST_MEMENTOS} captures on one page.`);
    if (performance.now() - since < LONGEST_STRETCH_MS) continue;
    await setImmediate();
    since = performance.now();
  }
  return results;
}

async function readLinks(text: string, url: string): Promise<TimeMapPage> {
  const page: TimeMapPage = { original: null, mementos: [], more: [] };
  page.mementos = await eachInTurn(linksOf(text), (link) =>
    refsOf(link).flatMap(({ rel = '', uri, datetime }) => {
      const target = URL.parse(uri, url)?.href;
      if (target === undefined) return [];
      const relation = rel.toLowerCase();
      if (relation === 'memento') return [{ uri: target, at: instantOfDate(datetime), original: null }];
      const isFurther = relation === 'timemap' || relation === 'next';
      if (relation === 'original') page.original = target;
      else if (isFurther && target !== url && page.more.length < MOST_FURTHER_PAGES) page.more.push(target);
      return [];
    }),
  );
  if (page.original === null && page.mementos.length === 0)
    throw new InvalidTimeMapError('It has no link to a memento.');
  return page;
}

/** The links of a list, one at a time: commas stand within addresses and quotes too. No character is looked at twice. */
function* linksOf(text: string): Generator<string> {
  let from = 0;
  let within: '>' | '"' | undefined;
  for (let at = 0; at <= text.length; at += 1) {
    const character = text[at];
    if (within === '"' && character === '\\') at += 1;
    else if (character === within) within = undefined;
    else if (within === undefined && character === '<') within = '>';
    else if (within === undefined && character === '"') within = '"';
    else if (within === undefined && character === ',') {
      yield text.slice(from, at);
      from = at + 1;
    }
    if (at - from > MAX_LINK_CHARACTERS) throw new InvalidTimeMapError('A link of it is too long.');
  }
  yield text.slice(from);
}

type Ref = { rel?: string; uri: string; datetime?: string };

function refsOf(link: string): Ref[] {
  const text = link.trim();
  if (text === '') return [];
  try {
    return LinkHeader.parse(text).refs as Ref[];
  } catch (cause) {
    throw new InvalidTimeMapError(
      `A link of it cannot be read${cause instanceof Error ? `: ${cause.message}` : ''}.`,
    );
  }
}

/** The rows of an index: lists under a list of names, or an object a line. Undefined where it is something else. */
function rowsOf(text: string): Iterable<Record<string, unknown>> | undefined {
  if (text.trimStart().startsWith('[')) {
    const all = parsed(text) as unknown[];
    const [names] = all;
    if (names === undefined) return [];
    return Array.isArray(names) ? namedRows(names, all) : all.filter(isRecord);
  }
  const [first = '', second] = text.trim().split('\n', 2);
  const isLines = second === undefined ? /"timestamp"\s*:/.test(first) : first.trimEnd().endsWith('}');
  return isLines ? lineRows(text.trim()) : undefined;
}

function* namedRows(names: readonly unknown[], all: readonly unknown[]): Generator<Record<string, unknown>> {
  for (const row of all.slice(1)) {
    if (!Array.isArray(row)) continue;
    yield Object.fromEntries(names.map((name, index) => [String(name), row[index] as unknown]));
  }
}

function* lineRows(text: string): Generator<Record<string, unknown>> {
  for (const line of text.split('\n')) {
    const row = parsed(line);
    if (isRecord(row)) yield row;
  }
}

function mementoOfRow(row: Record<string, unknown>, url: string): ListedMemento[] {
  const timestamp = textOf(row.timestamp);
  const original = textOf(row.original ?? row.url);
  const at = instantOfTimestamp(timestamp);
  const uri = at === null || original === '' ? undefined : mementoUrlFromIndex(url, timestamp, original);
  return uri === undefined ? [] : [{ uri, at, original }];
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

async function readJsonMap(map: unknown, url: string): Promise<TimeMapPage> {
  if (!isRecord(map)) throw new InvalidTimeMapError('Its JSON is of no form that is known.');
  const mementos = isRecord(map.mementos) ? map.mementos : {};
  const pages = isRecord(map.pages) ? map.pages : {};
  const list = Array.isArray(mementos.list) ? mementos.list.filter(isRecord) : [];
  const original = typeof map.original_uri === 'string' ? map.original_uri : null;
  if (original === null) throw new InvalidTimeMapError('Its JSON does not say whose captures it lists.');
  const more = isRecord(pages.next) && typeof pages.next.uri === 'string' ? [pages.next.uri] : [];
  return {
    original,
    more: more.flatMap((next) => URL.parse(next, url)?.href ?? []),
    mementos: await eachInTurn(list, ({ uri, datetime }) => {
      const target = typeof uri === 'string' ? URL.parse(uri, url)?.href : undefined;
      const at = typeof datetime === 'string' ? instantOfDate(datetime) : null;
      return target === undefined ? [] : [{ uri: target, at, original: null }];
    }),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidTimeMapError('Its JSON cannot be read.');
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The instant of a date as HTTP or RFC 3339 writes it. */
export function instantOfDate(text: string | undefined): string | null {
  const time = Date.parse(text ?? '');
  if (Number.isNaN(time)) return null;
  const instant = new Date(time).toISOString();
  // Before the year 0 and after 9999 it would be no instant as all others are.
  return instantSchema.safeParse(instant).success ? instant : null;
}

function instantOfTimestamp(text: string): string | null {
  return /^\d{14}$/.test(text)
    ? instantOfDate(text.replace(/^(....)(..)(..)(..)(..)(..)$/, '$1-$2-$3T$4:$5:$6Z'))
    : null;
}
