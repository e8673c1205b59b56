import { contentEncodingOf } from '../../../../shared/collection/contentEncoding.ts';
import { mementoTimestamp } from '../../../../shared/collection/memento.ts';
import { Problem } from '../../../../shared/problems.ts';
import { isHttpUrl } from '../../../../shared/values/text.ts';
import {
  type MementoRow,
  mementoBetween,
  momentBefore,
  momentsAfter,
} from '../../../store/sqlite/collection/mementos.ts';
import { firstHeadersOfObject } from '../../../store/sqlite/collection/retrievals.ts';
import { sourceById } from '../../../store/sqlite/collection/sources.ts';
import { blobBytes } from '../../../store/sqlite/node/blobs.ts';
import type { Store } from '../../../store/store.ts';
import { normalizeUrl, sourceIdOf } from '../../sources/sources.ts';
import type { ArchivedObject } from '../../timeline/objects.ts';

/** Sort before and after every moment that a row can have. */
const BEGINNING = '';
const END = '\uffff';
/** Moments read at a time. */
const PAGE = 500;

/** A source that has been observed, with the first and last moment shown. */
export interface ObservedSource {
  key: number;
  url: string;
  first: string;
  last: string;
}

/** A memento and its neighbours, if any. */
export interface Memento {
  observed: ObservedSource;
  moment: string;
  object: ArchivedObject;
  /** The content codings of the stored bytes, or null. */
  contentEncoding: string | null;
  previous: string | undefined;
  next: string | undefined;
}

/**
 * Finds the source of an address taken from a request path, either plain or percent-encoded once more.
 *
 * @throws Problem `not_found` if it was never observed.
 */
export function findObservedSource({ read }: Pick<Store, 'read'>, address: string): ObservedSource {
  const url = addressOf(address);
  const source = url === undefined ? undefined : sourceById(read, sourceIdOf(url));
  const [first] = source ? momentsAfter(read, source.key, BEGINNING, 1) : [];
  const last = source && momentBefore(read, source.key, END);
  if (!source || source.url !== url || first === undefined || last === undefined)
    throw new Problem('not_found', 'The archive holds no observation of this address.');
  return { key: source.key, url: source.url, first, last };
}

function addressOf(given: string): string | undefined {
  const [path = '', ...query] = given.split('?');
  try {
    const text = /^https?%3a/i.test(path) ? [decodeURIComponent(path), ...query].join('?') : given;
    return isHttpUrl(text) ? normalizeUrl(text) : undefined;
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}

/** Yields the moments of a source's observations in order, a page at a time, up to `last`. */
export function* momentsOf(
  { read }: Pick<Store, 'read'>,
  { key, last }: ObservedSource,
): Generator<string[]> {
  for (let after = BEGINNING; after < last; ) {
    const page = momentsAfter(read, key, after, PAGE).filter((moment) => moment <= last);
    yield page;
    after = page.at(-1) ?? last;
  }
}

/** Returns the moment nearest to an instant in milliseconds, the earlier of two equally near; the last if none is given. */
export function nearestMoment({ read }: Pick<Store, 'read'>, observed: ObservedSource, at?: number): string {
  if (at === undefined) return observed.last;
  const instant = new Date(at).toISOString();
  const before = momentBefore(read, observed.key, instant);
  const [after] = momentsAfter(read, observed.key, before ?? BEGINNING, 1);
  if (before === undefined || after === undefined) return before ?? after ?? observed.last;
  return at - Date.parse(before) <= Date.parse(after) - at ? before : after;
}

/** @throws Problem `not_found` if the address was not observed at that time. */
export function readMemento(store: Pick<Store, 'read' | 'blobs'>, stamp: string, address: string): Memento {
  const observed = findObservedSource(store, address);
  const [from, until] = rangeOf(stamp);
  const found = from && until ? mementoBetween(store.read, observed.key, from, until) : undefined;
  if (!found)
    throw new Problem(
      'not_found',
      'This address was not observed at that time. Its TimeMap lists the times of its observations.',
    );
  return {
    observed,
    object: objectOf(store, found),
    contentEncoding: encodingOf(store, found),
    ...neighboursOf(store, observed, found.moment),
  };
}

/** Returns a moment with the one before it and the one after it. */
export function neighboursOf(
  { read }: Pick<Store, 'read'>,
  { key }: ObservedSource,
  moment: string,
): Pick<Memento, 'moment' | 'previous' | 'next'> {
  const [next] = momentsAfter(read, key, moment, 1);
  return { moment, previous: momentBefore(read, key, moment), next };
}

/** Returns the first and last instant that a timestamp of 14 or 17 digits covers. */
function rangeOf(stamp: string): [string, string] | [] {
  const digits = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d{3})?$/.exec(stamp);
  if (!digits) return [];
  const [, year, month, day, hour, minute, second, milliseconds] = digits;
  const toSeconds = `${year}-${month}-${day}T${hour}:${minute}:${second}`;
  return [`${toSeconds}.${milliseconds ?? '000'}Z`, `${toSeconds}.${milliseconds ?? '999'}Z`];
}

/** A 304 and a revisit without a head do not repeat how the stored bytes are encoded. */
function encodingOf({ read }: Pick<Store, 'read'>, { sha256, status, headers }: MementoRow): string | null {
  const isRepeated = status === 304 || (status !== null && headers.length === 0);
  const own = contentEncodingOf(headers);
  return own === null && isRepeated
    ? contentEncodingOf(firstHeadersOfObject(read, sha256)?.headers ?? [])
    : own;
}

function objectOf({ read, blobs }: Pick<Store, 'read' | 'blobs'>, row: MementoRow): ArchivedObject {
  const { sha256, content_type } = row;
  return {
    file: blobs.fileOf(sha256),
    sha256,
    bytes: blobBytes(read, sha256) ?? 0,
    contentType: content_type ?? 'application/octet-stream',
  };
}

/** Returns the addresses of a source's TimeGate, TimeMaps and mementos under the origin of the request. */
export function mementoAddresses(origin: string, url: string) {
  return {
    timegate: `${origin}/timegate/${url}`,
    timemap: `${origin}/timemap/link/${url}`,
    timemapJson: `${origin}/timemap/json/${url}`,
    memento: (moment: string) => `${origin}/memento/${mementoTimestamp(moment)}/${url}`,
  };
}
