import { extension as extensionOf, lookup } from 'mime-types';
import { mementoTimestamp } from '../../../shared/collection/captures.ts';
import { isHandedIn } from '../../../shared/collection/observers.ts';
import { contentEncodingOf } from '../../../shared/collection/retrieval.ts';
import type { ObjectView, PageResources, ViewKind, ViewQuery } from '../../../shared/collection/view.ts';
import { Problem } from '../../../shared/problems.ts';
import { startOfBlob } from '../../store/blobs/offloadedBlobs.ts';
import { mementoBetween } from '../../store/sqlite/collection/captures.ts';
import { handInOfRetrieval } from '../../store/sqlite/collection/handIns.ts';
import { sourceKeyOf } from '../../store/sqlite/collection/sources.ts';
import {
  eventOfVersion,
  firstRetrieval,
  otherVersion,
  pagePart,
  retrievalAt,
  type ViewedRetrieval,
} from '../../store/sqlite/collection/views.ts';
import type { Store } from '../../store/store.ts';
import { madeOfReadable, marksOf, type Reader, requireReadable } from '../../withholding/withholding.ts';
import { mediaKind } from '../derived/mediaKind.ts';
import { objectToRead } from '../derived/process/deriver.ts';
import { type MadePage, NotDerivableError } from '../derived/process/tasks.ts';
import { requireObject } from '../timeline/objects.ts';
import type { PageCache } from './pageCache.ts';

type ReadStore = Pick<Store, 'read' | 'blobs'>;

/**
 * Returns what is needed to show an object as one retrieval brought it.
 *
 * @throws Problem `invalid_digest`, `not_found`, `withheld`, `released`.
 */
export async function readObjectView(
  store: ReadStore,
  sha256: string,
  query: ViewQuery,
  reader: Reader,
): Promise<ObjectView> {
  const bytes = requireObject(store.read, sha256);
  requireReadable(store.read, sha256, reader);
  const retrieval = requireViewedRetrieval(store, sha256, query);
  // A 304 does not repeat the headers that the object arrived with.
  const { contentType, contentEncoding } = objectToRead(store, sha256);
  const { source_id, url, name, final_url, moment, observer, observed_at, original_observed_at, status } =
    retrieval;
  const encoding = contentEncodingOf(retrieval.headers) ?? contentEncoding;
  return {
    sha256,
    bytes,
    content_type: contentType,
    kind: await viewKind(store, { sha256, url: final_url, contentType, isEncoded: encoding !== null }),
    file_name: fileNameOf({ url: final_url, contentType, encoding, headers: retrieval.headers, at: moment }),
    content: encoding === null ? `/archive/${sha256}` : decodedPath(store, sha256, retrieval),
    source: { id: source_id, url, name },
    final_url,
    observer,
    observed_at,
    original_observed_at,
    at: moment,
    status,
    event: eventOfVersion(store.read, retrieval, sha256) ?? null,
    older: otherVersion(store.read, retrieval, sha256, 'older') ?? null,
    newer: otherVersion(store.read, retrieval, sha256, 'newer') ?? null,
    ...marksOf(store.read, sha256),
  };
}

/**
 * Returns an archived page that can be shown.
 *
 * @throws Problem `invalid_digest`, `not_found`, `withheld`, `released`; `not_derivable` with the reason;
 * `derivation_busy`.
 */
export async function readArchivedPage(
  store: ReadStore,
  pages: PageCache,
  { sha256, query }: { sha256: string; query: ViewQuery },
  reader: Reader,
): Promise<MadePage> {
  requireObject(store.read, sha256);
  const requireShown = () => requireReadable(store.read, sha256, reader);
  requireShown();
  const retrieval = requireViewedRetrieval(store, sha256, query);
  const { final_url: url, moment } = retrieval;
  const page = { sha256, url, moment, handIn: handInOf(store.read, retrieval) };
  try {
    return await madeOfReadable(requireShown, () => pages.make(page, reader));
  } catch (error) {
    if (!(error instanceof NotDerivableError)) throw error;
    throw new Problem('not_derivable', `This object cannot be shown as a page. ${error.message}`, {
      members: { reason: error.reason },
    });
  }
}

/** Returns the id of what a person handed in that a retrieval belongs to, or null. */
function handInOf(read: Store['read'], { id, part_of, observer }: ViewedRetrieval): string | null {
  if (!isHandedIn(observer)) return null;
  return part_of ?? handInOfRetrieval(read, id) ?? null;
}

/** Returns what a page consists of. @throws Problem like `readArchivedPage` */
export function pageResources(sha256: string, { title, used, missing, truncated }: MadePage): PageResources {
  return {
    sha256,
    title,
    used: used.map(({ moment, ...capture }) => ({ ...capture, at: moment })),
    missing,
    truncated,
  };
}

/** Returns the retrieval of an object that a query selects: the first if it names none. @throws Problem `not_found` */
export function requireViewedRetrieval(
  { read }: Pick<Store, 'read'>,
  sha256: string,
  { source, at }: ViewQuery,
): ViewedRetrieval {
  const found = source === undefined ? firstRetrieval(read, sha256) : retrievalOf(read, sha256, source, at);
  if (found) return found;
  throw new Problem(
    'not_found',
    source === undefined ? 'No retrieval of this object is recorded.' : 'This source never had this object.',
  );
}

function retrievalOf(
  read: Store['read'],
  sha256: string,
  source: string,
  at: string | undefined,
): ViewedRetrieval | undefined {
  const sourceKey = sourceKeyOf(read, source);
  if (sourceKey === undefined) return undefined;
  const object = { sourceKey, sha256 };
  const found =
    at === undefined
      ? undefined
      : (retrievalAt(read, { ...object, moment: at }) ?? pagePart(read, { ...object, moment: at }));
  return found ?? firstRetrieval(read, sha256, sourceKey) ?? pagePart(read, { ...object, moment: null });
}

/**
 * Returns the path of a memento, which is sent with its encoding. Only observations are mementos, and another observer may
 * have another object at the same moment.
 */
function decodedPath(
  { read }: ReadStore,
  sha256: string,
  { source_key, moment, url }: ViewedRetrieval,
): string {
  const isMemento = mementoBetween(read, source_key, moment, moment)?.sha256 === sha256;
  return isMemento ? `/memento/${mementoTimestamp(moment)}/${url}` : `/archive/${sha256}`;
}

/** How much of an object is inspected. */
const INSPECTED_BYTES = 1_024;
const FEED_TYPES = /^application\/(rss|atom|rdf)\+xml/i;
const FEED_ROOT = /<(rss|feed|rdf:RDF)[\s>]/;

interface ObjectToShow {
  sha256: string;
  url: string;
  contentType: string | null;
  /** Whether the stored bytes are encoded, so that their beginning says nothing. */
  isEncoded: boolean;
}

/** Returns how an object is shown, by its content type, its first bytes and its address. */
async function viewKind(
  { blobs }: Pick<Store, 'blobs'>,
  { sha256, url, contentType, isEncoded }: ObjectToShow,
): Promise<ViewKind> {
  const head = isEncoded
    ? new Uint8Array()
    : ((await startOfBlob(blobs, sha256, INSPECTED_BYTES)) ?? new Uint8Array());
  const type = contentType ?? '';
  const path = URL.parse(url)?.pathname ?? '';
  if (/^image\/svg\+xml/i.test(type)) return 'image';
  if (FEED_TYPES.test(type)) return 'feed';
  const kind = mediaKind(contentType, head);
  if (kind === 'xml') return FEED_ROOT.test(Buffer.from(head).toString('latin1')) ? 'feed' : 'xml';
  if (kind === 'text')
    return /^text\/(x-)?markdown/i.test(type) || /\.(md|markdown)$/i.test(path) ? 'markdown' : 'text';
  return kind;
}

const MAX_NAME_CHARACTERS = 120;
/** Types that say nothing about the content, so that they give no extension. */
const UNINFORMATIVE = /^(application\/(octet-stream|download|x-download|force-download)|binary\/)/i;

const ENCODED: Partial<Record<string, string>> = { gzip: '.gz', 'x-gzip': '.gz', br: '.br', zstd: '.zst' };

interface NamedObject {
  /** The address that the bytes came from. */
  url: string;
  contentType: string | null;
  /** The content codings of the stored bytes, or null. */
  encoding: string | null;
  headers: readonly (readonly [string, string])[];
  /** The time of the capture. */
  at: string;
}

/**
 * Returns a name for a downloaded object: the one in `Content-Disposition`, else the last segment of its address, else its
 * host and the date. The name has an extension that fits the content type, and no character that a system forbids. Bytes that are stored
 * encoded get the extension of their encoding too.
 */
function fileNameOf({ encoding, ...object }: NamedObject): string {
  const codings = encoding?.split(', ') ?? [];
  return plainName(object) + codings.map((coding) => ENCODED[coding] ?? '').join('');
}

function plainName({ url, contentType, headers, at }: Omit<NamedObject, 'encoding'>): string {
  const given = safeName(dispositionName(headers) ?? '');
  if (given !== '') return given;
  const { hostname = '', pathname = '' } = URL.parse(url) ?? {};
  const segment = safeName(decoded(pathname.split('/').findLast((part) => part !== '') ?? ''));
  const name = segment === '' ? safeName(`${hostname} ${at.slice(0, 10)}`) : segment;
  const wanted = UNINFORMATIVE.test(contentType ?? '') ? false : extensionOf(contentType ?? '');
  if (wanted === false) return name;
  return hasExtensionFor(name, contentType ?? '', segment !== '') ? name : `${name}.${wanted}`;
}

/** Text is sent as any kind of text, so any known extension of text fits it. */
function hasExtensionFor(name: string, contentType: string, isSegment: boolean): boolean {
  const dot = name.lastIndexOf('.');
  if (!isSegment || dot < 1) return false;
  const byName = lookup(name.slice(dot));
  const type = contentType.split(';', 1)[0]?.trim().toLowerCase();
  if (byName === false) return false;
  return byName === type || extensionOf(byName) === extensionOf(contentType) || type === 'text/plain';
}

/** Returns the file name of a `Content-Disposition` header (RFC 6266), the extended form first. */
function dispositionName(headers: NamedObject['headers']): string | undefined {
  const value = headers.find(([name]) => name.toLowerCase() === 'content-disposition')?.[1];
  if (value === undefined) return undefined;
  const extended = /filename\*\s*=\s*utf-8'[^']*'([^;\s]+)/i.exec(value)?.[1];
  if (extended !== undefined) return decoded(extended);
  const quoted = /filename\s*=\s*"((?:[^"\\]|\\.)*)"/i.exec(value)?.[1]?.replace(/\\(.)/g, '$1');
  return quoted ?? /filename\s*=\s*([^;\s"]+)/i.exec(value)?.[1];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (error instanceof URIError) return text;
    throw error;
  }
}

/** Windows and URLs forbid these characters; a name neither begins with a dot nor ends with one. */
function safeName(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? '';
  const plain = last
    .toWellFormed()
    .replace(/[<>:"|?*\p{Cc}\p{Cf}\p{Zl}\p{Zp}\ufffd]/gu, '_')
    .replace(/^[.\s]+|[.\s]+$/g, '');
  if (plain.length <= MAX_NAME_CHARACTERS) return plain;
  const end = /\.[a-z0-9]{1,8}$/i.exec(plain)?.[0] ?? '';
  return plain.slice(0, MAX_NAME_CHARACTERS - end.length) + end;
}
