import { mementoTimestamp } from '../../../../shared/collection/captures.ts';
import { contentEncodingOf } from '../../../../shared/collection/retrieval.ts';
import { Problem } from '../../../../shared/problems.ts';
import { isHttpUrl } from '../../../../shared/values/text.ts';
import { startOfBlob } from '../../../store/blobs/offloadedBlobs.ts';
import {
  type MementoRow,
  mementoBetween,
  momentBefore,
  momentsAfter,
} from '../../../store/sqlite/collection/captures.ts';
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
interface ObservedSource {
  key: number;
  url: string;
  first: string;
  last: string;
}

/** A memento and its neighbours, if any. */
interface Memento {
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
function* momentsOf({ read }: Pick<Store, 'read'>, { key, last }: ObservedSource): Generator<string[]> {
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

const KNOWN_CODINGS: ReadonlySet<string> = new Set(['gzip', 'x-gzip', 'deflate', 'br', 'zstd']);
/** Bodies are encoded once, rarely twice; more is an attack on the client. */
const MAX_CODINGS = 3;
/** How much of a body is inspected. */
const INSPECTED_BYTES = 512;

/**
 * Returns the `Content-Encoding` to send with a memento, so that the client decodes its bytes. Some servers and archives
 * state a coding for a body that is not encoded; a client would fail to decode it, so none is sent then. None is sent
 * either if a coding is unknown.
 *
 * @param recorded the codings of the recorded response, as `contentEncodingOf` returns them.
 */
export async function sentEncoding(
  { blobs }: Pick<Store, 'blobs'>,
  sha256: string,
  recorded: string | null,
): Promise<string | undefined> {
  const codings = recorded?.split(', ') ?? [];
  const last = codings.at(-1);
  if (recorded === null || last === undefined || codings.length > MAX_CODINGS) return undefined;
  if (!codings.every((coding) => KNOWN_CODINGS.has(coding))) return undefined;
  const start = await startOfBlob(blobs, sha256, INSPECTED_BYTES);
  return start && isEncodedAs(start, last) ? recorded : undefined;
}

function isEncodedAs(start: Uint8Array, coding: string): boolean {
  if (coding.endsWith('gzip')) return beginsWith(start, 0x1f, 0x8b);
  if (coding === 'zstd') return beginsWith(start, 0x28, 0xb5, 0x2f, 0xfd);
  // These two have no signature.
  return !start.every((byte) => byte >= 0x20 || (byte >= 0x09 && byte <= 0x0d));
}

function beginsWith(bytes: Uint8Array, ...signature: number[]): boolean {
  return signature.every((byte, index) => bytes[index] === byte);
}

/** Yields a TimeMap in link format (RFC 7089, section 5; RFC 6690), piece by piece as it is sent. */
export function* timeMapLinks(
  store: Pick<Store, 'read'>,
  observed: ObservedSource,
  origin: string,
): Generator<string> {
  const { url, first, last } = observed;
  const addresses = mementoAddresses(origin, url);
  yield `${link(url, 'original')},\n${link(addresses.timegate, 'timegate')},\n`;
  const span = `from="${httpDate(first)}"; until="${httpDate(last)}"`;
  yield `${link(addresses.timemap, 'self')}; type="application/link-format"; ${span}`;
  for (const page of momentsOf(store, observed)) {
    yield page.map((moment) => `,\n${mementoLink(observed, origin, moment)}`).join('');
  }
  yield '\n';
}

/** Yields the same TimeMap as JSON. */
export function* timeMapJson(
  store: Pick<Store, 'read'>,
  observed: ObservedSource,
  origin: string,
): Generator<string> {
  const { url, first, last } = observed;
  const { timegate, timemap, timemapJson, memento } = mementoAddresses(origin, url);
  const entryOf = (moment: string) => ({ datetime: moment, uri: memento(moment) });
  const head = {
    original_uri: url,
    timegate_uri: timegate,
    timemap_uri: { link_format: timemap, json_format: timemapJson },
    mementos: { first: entryOf(first), last: entryOf(last) },
  };
  yield `${JSON.stringify(head).slice(0, -2)},"list":[`;
  let separator = '';
  for (const page of momentsOf(store, observed)) {
    yield separator + page.map((moment) => JSON.stringify(entryOf(moment))).join(',');
    separator = ',';
  }
  yield ']}}';
}

/** Returns the Link header of a memento or of a redirect to one (RFC 7089, section 2.2). */
export function linkHeader(
  observed: ObservedSource,
  origin: string,
  { moment, previous, next }: Pick<Memento, 'moment' | 'previous' | 'next'>,
): string {
  const { url, first, last } = observed;
  const { timegate, timemap } = mementoAddresses(origin, url);
  const moments = [...new Set([first, previous, moment, next, last])].filter((each) => each !== undefined);
  const relOf = (each: string) => (each === previous ? 'prev' : each === next ? 'next' : undefined);
  return [
    link(url, 'original'),
    link(timegate, 'timegate'),
    `${link(timemap, 'timemap')}; type="application/link-format"`,
    ...moments.map((each) => mementoLink(observed, origin, each, relOf(each))),
  ].join(', ');
}

/** Formats an instant as an HTTP date, in whole seconds. */
export function httpDate(moment: string): string {
  return new Date(moment).toUTCString();
}

function mementoLink(
  { url, first, last }: ObservedSource,
  origin: string,
  moment: string,
  neighbour?: 'prev' | 'next',
): string {
  const relations = [moment === first && 'first', moment === last && 'last', neighbour, 'memento'].filter(
    Boolean,
  );
  const target = mementoAddresses(origin, url).memento(moment);
  return `${link(target, relations.join(' '))}; datetime="${httpDate(moment)}"`;
}

function link(target: string, relation: string): string {
  return `<${target}>; rel="${relation}"`;
}
