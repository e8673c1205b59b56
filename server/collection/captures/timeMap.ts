import { setImmediate } from 'node:timers/promises';
import LinkHeader from 'http-link-header';
import { instantSchema } from '../../../shared/text.ts';
import { mementoInIndex } from './rawMemento.ts';

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
export class NoTimeMap extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'NoTimeMap';
  }
}

/**
 * Reads one page of a TimeMap: link format (RFC 7089, section 5), JSON as archives write it beside that, or the rows
 * of an archive's index (CDX) in JSON.
 *
 * @param url where it was read. @throws NoTimeMap
 */
export async function readTimeMap(text: string, url: string): Promise<TimeMapPage> {
  const beginning = text.trimStart().slice(0, 1);
  if (beginning === '<') return readLinks(text, url);
  if (beginning !== '[' && beginning !== '{') throw new NoTimeMap('It is neither link format nor JSON.');
  const rows = rowsOf(text);
  if (rows) return { original: null, more: [], mementos: rows.flatMap((row) => mementoOfRow(row, url)) };
  return readJsonMap(parsed(text), url);
}

/** Links that are read before other work is let in between. */
const SLICE = 200;

async function readLinks(text: string, url: string): Promise<TimeMapPage> {
  const page: TimeMapPage = { original: null, mementos: [], more: [] };
  let count = 0;
  for (const link of linksOf(text)) {
    count += 1;
    if (count % SLICE === 0) await setImmediate();
    for (const { rel = '', uri, datetime } of refsOf(link)) {
      const target = URL.parse(uri, url)?.href;
      if (target === undefined) continue;
      const relation = rel.toLowerCase();
      if (relation === 'original') page.original = target;
      else if (relation === 'memento')
        page.mementos.push({ uri: target, at: instantOfDate(datetime), original: null });
      else if ((relation === 'timemap' || relation === 'next') && target !== url) page.more.push(target);
    }
  }
  if (page.original === null && page.mementos.length === 0)
    throw new NoTimeMap('It has no link to a memento.');
  return page;
}

/** The links of a list, one at a time: commas stand within addresses and quotes too. */
function* linksOf(text: string): Generator<string> {
  const separator = /<[^>]*>|"(?:[^"\\]|\\.)*"|,/g;
  let from = 0;
  for (let found = separator.exec(text); found; found = separator.exec(text)) {
    if (found[0] !== ',') continue;
    yield text.slice(from, found.index);
    from = separator.lastIndex;
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
    throw new NoTimeMap(`A link of it cannot be read${cause instanceof Error ? `: ${cause.message}` : ''}.`);
  }
}

/** The rows of an index: lists under a list of names, or an object a line. Undefined where it is something else. */
function rowsOf(text: string): Record<string, unknown>[] | undefined {
  if (text.trimStart().startsWith('[')) {
    const [names, ...rows] = parsed(text) as unknown[];
    if (names === undefined) return [];
    if (!Array.isArray(names)) return (parsed(text) as unknown[]).filter(isRecord);
    return rows
      .filter((row) => Array.isArray(row))
      .map((row) => Object.fromEntries(names.map((name, index) => [String(name), row[index] as unknown])));
  }
  const [first = '', second] = text.trim().split('\n', 2);
  const isLines = second === undefined ? /"timestamp"\s*:/.test(first) : first.trimEnd().endsWith('}');
  return isLines ? text.trim().split('\n').map(parsed).filter(isRecord) : undefined;
}

function mementoOfRow(row: Record<string, unknown>, url: string): ListedMemento[] {
  const timestamp = textOf(row.timestamp);
  const original = textOf(row.original ?? row.url);
  const at = instantOfTimestamp(timestamp);
  const uri = at === null || original === '' ? undefined : mementoInIndex(url, timestamp, original);
  return uri === undefined ? [] : [{ uri, at, original }];
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

function readJsonMap(map: unknown, url: string): TimeMapPage {
  if (!isRecord(map)) throw new NoTimeMap('Its JSON is of no form that is known.');
  const mementos = isRecord(map.mementos) ? map.mementos : {};
  const pages = isRecord(map.pages) ? map.pages : {};
  const list = Array.isArray(mementos.list) ? mementos.list.filter(isRecord) : [];
  const original = typeof map.original_uri === 'string' ? map.original_uri : null;
  if (original === null) throw new NoTimeMap('Its JSON does not say whose captures it lists.');
  const more = isRecord(pages.next) && typeof pages.next.uri === 'string' ? [pages.next.uri] : [];
  return {
    original,
    more: more.flatMap((next) => URL.parse(next, url)?.href ?? []),
    mementos: list.flatMap(({ uri, datetime }) => {
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
    throw new NoTimeMap('Its JSON cannot be read.');
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
