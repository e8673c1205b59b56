import LinkHeader from 'http-link-header';
import { instantSchema } from '../../../../shared/values/text.ts';
import { yieldToEventLoop } from '../../../runtime/background.ts';

/** One capture that a TimeMap lists. */
export interface ListedMemento {
  uri: string;
  /** When it was captured according to the TimeMap; null if not stated. */
  at: string | null;
  /** The captured address; null unless the list states one for each capture. */
  original: string | null;
}

/** One page of a TimeMap. */
interface TimeMapPage {
  /** The captured address; null if the page does not state it. */
  original: string | null;
  mementos: ListedMemento[];
  /** The addresses of further pages. */
  more: string[];
}

/** The document is not a TimeMap in any supported form. */
export class InvalidTimeMapError extends Error {
  override name = 'InvalidTimeMapError';
}

/**
 * Parses one page of a TimeMap: link format (RFC 7089, section 5), the JSON form that archives also offer, or rows of an
 * archive's index (CDX) as JSON.
 *
 * @param url the address of the page. @throws InvalidTimeMapError
 */
export async function parseTimeMap(text: string, url: string): Promise<TimeMapPage> {
  const beginning = text.trimStart().slice(0, 1);
  if (beginning === '<') return parseLinks(text, url);
  if (beginning !== '[' && beginning !== '{')
    throw new InvalidTimeMapError('It is neither link format nor JSON.');
  const rows = rowsOf(text);
  if (rows) {
    const mementos = await flatMapYielding(rows, (row) => mementoOfRow(row, url));
    return { original: null, more: [], mementos };
  }
  return parseJsonMap(parseJson(text), url);
}

/** The event loop gets a turn after this long. */
const YIELD_AFTER_MS = 10;
/** Limit per page. */
const MAX_LISTED_MEMENTOS = 200_000;
/** Links to further pages; real TimeMaps have one or two. */
const MAX_FURTHER_PAGES = 100;
/** The link parser may take quadratic time in the length of a link. */
const MAX_LINK_CHARACTERS = 8_192;

/** Maps and flattens all parts, yielding to the event loop. @throws InvalidTimeMapError if there are too many results. */
async function flatMapYielding<Part, Result>(
  parts: Iterable<Part>,
  read: (part: Part) => readonly Result[],
): Promise<Result[]> {
  const results: Result[] = [];
  let since = performance.now();
  for (const part of parts) {
    results.push(...read(part));
    if (results.length > MAX_LISTED_MEMENTOS)
      throw new InvalidTimeMapError(`It lists more than ${MAX_LISTED_MEMENTOS} captures on one page.`);
    if (performance.now() - since < YIELD_AFTER_MS) continue;
    await yieldToEventLoop();
    since = performance.now();
  }
  return results;
}

async function parseLinks(text: string, url: string): Promise<TimeMapPage> {
  const page: TimeMapPage = { original: null, mementos: [], more: [] };
  page.mementos = await flatMapYielding(splitLinks(text), (link) =>
    refsOf(link).flatMap(({ rel = '', uri, datetime }) => {
      const target = URL.parse(uri, url)?.href;
      if (target === undefined) return [];
      const relation = rel.toLowerCase();
      if (relation === 'memento') return [{ uri: target, at: instantOfDate(datetime), original: null }];
      const isFurther = relation === 'timemap' || relation === 'next';
      if (relation === 'original') page.original = target;
      else if (isFurther && target !== url && page.more.length < MAX_FURTHER_PAGES) page.more.push(target);
      return [];
    }),
  );
  if (page.original === null && page.mementos.length === 0)
    throw new InvalidTimeMapError('It has no link to a memento.');
  return page;
}

/** Splits a link list at its commas, except those inside addresses and quotes. Reads each character once. */
function* splitLinks(text: string): Generator<string> {
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
    if (at - from > MAX_LINK_CHARACTERS) throw new InvalidTimeMapError('One of its links is too long.');
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
      `One of its links cannot be read${cause instanceof Error ? `: ${cause.message}` : ''}.`,
    );
  }
}

/** Returns the rows of an index: arrays below an array of names, or one object per line. Undefined for anything else. */
function rowsOf(text: string): Iterable<Record<string, unknown>> | undefined {
  if (text.trimStart().startsWith('[')) {
    const all = parseJson(text) as unknown[];
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
    const row = parseJson(line);
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

async function parseJsonMap(map: unknown, url: string): Promise<TimeMapPage> {
  if (!isRecord(map)) throw new InvalidTimeMapError('Its JSON has an unknown structure.');
  const mementos = isRecord(map.mementos) ? map.mementos : {};
  const pages = isRecord(map.pages) ? map.pages : {};
  const list = Array.isArray(mementos.list) ? mementos.list.filter(isRecord) : [];
  const original = typeof map.original_uri === 'string' ? map.original_uri : null;
  if (original === null) throw new InvalidTimeMapError('Its JSON does not name the captured address.');
  const more = isRecord(pages.next) && typeof pages.next.uri === 'string' ? [pages.next.uri] : [];
  return {
    original,
    more: more.flatMap((next) => URL.parse(next, url)?.href ?? []),
    mementos: await flatMapYielding(list, ({ uri, datetime }) => {
      const target = typeof uri === 'string' ? URL.parse(uri, url)?.href : undefined;
      const at = typeof datetime === 'string' ? instantOfDate(datetime) : null;
      return target === undefined ? [] : [{ uri: target, at, original: null }];
    }),
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidTimeMapError('Its JSON cannot be read.');
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Parses an HTTP or RFC 3339 date into an instant; null if it is not one. */
export function instantOfDate(text: string | undefined): string | null {
  const time = Date.parse(text ?? '');
  if (Number.isNaN(time)) return null;
  const instant = new Date(time).toISOString();
  // Years below 0 and above 9999 have an extended form that other instants do not have.
  return instantSchema.safeParse(instant).success ? instant : null;
}

function instantOfTimestamp(text: string): string | null {
  return /^\d{14}$/.test(text)
    ? instantOfDate(text.replace(/^(....)(..)(..)(..)(..)(..)$/, '$1-$2-$3T$4:$5:$6Z'))
    : null;
}

/** The address at which an archive replays a capture: `…/20200101000000/http…`, possibly with a modifier such as `if_`. */
const REPLAY = /^(https?:\/\/[^?#]*?\/)(\d{14})(?:[a-z]{2}_)?(\/https?:.*)$/i;

/**
 * Returns the address of the original bytes of a capture. Wayback-style archives rewrite pages for replay unless the
 * address contains `id_`. Addresses of other archives are returned unchanged.
 */
export function rawMementoUrl(uri: string): string {
  return uri.replace(REPLAY, '$1$2id_$3');
}

/** Returns the address of a capture listed in a row of the archive's index at `index`; undefined if it is not an index. */
function mementoUrlFromIndex(index: string, timestamp: string, original: string): string | undefined {
  const url = URL.parse(index);
  const root = url && /^(.*?)(?:\/timemap\/|\/cdx(?:\/|$))/.exec(url.pathname)?.[1];
  if (!url || root === null || root === undefined) return undefined;
  // The Wayback Machine serves its index at /cdx/ and its captures at /web/.
  const collection = url.pathname.startsWith('/cdx/') ? '/web' : root;
  return `${url.origin}${collection}/${timestamp}id_/${original}`;
}
