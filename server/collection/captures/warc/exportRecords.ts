import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createGzip, gzip, gzipSync } from 'node:zlib';
import { handedInWords, isHandedIn, SELF } from '../../../../shared/collection/observers.ts';
import type { Connection } from '../../../../shared/collection/retrieval.ts';
import { isBlobDamageError } from '../../../fixity/audit.ts';
import { STATUS_CODES } from '../../../runtime/nodeHttp.ts';
import {
  attemptWithBody,
  eventsOfAttempt,
  insertWrittenObject,
  type WarcRow,
  type WrittenObject,
  writtenObject,
} from '../../../store/sqlite/collection/warcRows.ts';
import type { ReadDatabase } from '../../../store/sqlite/engine/open.ts';
import { blobBytes } from '../../../store/sqlite/node/blobs.ts';
import type { Store } from '../../../store/store.ts';
import {
  guarded,
  type Reader,
  requireReadable,
  unreadable,
  whileReadable,
} from '../../../withholding/withholding.ts';

const SAME_PAYLOAD = 'http://netpreserve.org/warc/1.1/revisit/identical-payload-digest';
const NOT_MODIFIED = 'http://netpreserve.org/warc/1.1/revisit/server-not-modified';

/** The inputs for the records of a file. */
interface WarcSource {
  store: Pick<Store, 'blobs' | 'read'>;
  database: ReadDatabase;
  /** Who gets the file. What was withheld after the snapshot was opened is left out, too. */
  reader: Reader;
  /** The node's verifier key: attempt numbers are unique within one node. */
  nodeKey: string;
  warcinfo: string;
  /** Called for each object whose bytes are damaged or missing. */
  onDamaged: (sha256: string) => void;
}

/**
 * Yields the records of one attempt: the redirects, the response, the request, and metadata. The response, and with it the
 * redirects, are left out unless all of it is held. An object already in the file is referred to, not repeated. A 304 refers to an earlier object: if the file
 * does not contain it yet, the attempt that brought it is written first.
 */
export async function* recordsOfAttempt(source: WarcSource, row: WarcRow): AsyncGenerator<NewWarcRecord> {
  const { database } = source;
  const written = row.sha256 === null ? undefined : writtenObject(database, row.sha256);
  if (written?.retrieval === row.id) return;
  if (row.status === 304 && isShown(source, row.sha256) && written === undefined) {
    const origin = attemptWithBody(database, row);
    if (origin) yield* recordsOfAttempt(source, origin);
  }
  const main = await mainRecord(source, row);
  if (main) {
    // Without the response that they lead to, they would lead nowhere. The metadata lists them in any case.
    yield* redirectRecords(source, row);
    yield main;
  }
  const block = main && (await requestBlock(source, row));
  if (main && block) {
    yield {
      ...common(source, row, 'request'),
      fields: { ...about(source, row), 'WARC-Concurrent-To': main.id },
      contentType: 'application/http; msgtype=request',
      ...block,
    };
  }
  yield {
    ...common(source, row, 'metadata'),
    fields: { ...about(source, row), 'WARC-Concurrent-To': main?.id },
    contentType: 'application/warc-fields',
    head: Buffer.from(formatNamedFields(metadataOf(source, row, main !== undefined))),
  };
}

const SHA256_OF_NOTHING = createHash('sha256').digest('hex');

/**
 * Yields a response for each redirect. Its body is not kept, so the record is truncated and states no payload digest
 * (ISO 28500, section 5.13), unless the server said that the body was empty. Attempts of earlier versions have no headers
 * of redirects: `Location` is then the address that was requested next.
 */
function* redirectRecords(source: WarcSource, row: WarcRow): Generator<NewWarcRecord> {
  if (!isRedirectedFrom(row)) return;
  for (const [index, { url, status, headers, connection }] of row.redirects.entries()) {
    const next = row.redirects[index + 1]?.url ?? row.final_url;
    const known: [string, string][] = next === url ? [] : [['Location', next]];
    const isEmpty = headers !== undefined && isEmptyBody(headers);
    yield {
      ...common(source, row, 'response', `redirect:${index}`),
      fields: {
        ...about(source, row),
        'WARC-Target-URI': url,
        ...connectionFields(connection),
        'WARC-Payload-Digest': isEmpty ? `sha256:${SHA256_OF_NOTHING}` : undefined,
        'WARC-Truncated': isEmpty ? undefined : 'unspecified',
      },
      contentType: 'application/http; msgtype=response',
      head: responseHead({ status, headers: headers ?? known }, isEmpty ? 0 : 'omitted'),
    };
  }
}

/** Returns whether the server announced an empty body. */
function isEmptyBody(headers: readonly (readonly [string, string])[]): boolean {
  const valuesOf = (wanted: string) =>
    headers.filter(([name]) => name.toLowerCase() === wanted).map(([, value]) => value.trim());
  const lengths = valuesOf('content-length');
  return (
    lengths.length > 0 && lengths.every((value) => value === '0') && !valuesOf('transfer-encoding').length
  );
}

/** Whether the redirects begin at the address itself. Those of a memento are between addresses of its archive. */
function isRedirectedFrom({ url, redirects }: WarcRow): boolean {
  return redirects[0]?.url === url;
}

async function mainRecord(source: WarcSource, row: WarcRow): Promise<NewWarcRecord | undefined> {
  if (row.sha256 === null || !isShown(source, row.sha256)) return undefined;
  const written = writtenObject(source.database, row.sha256);
  if (written) return revisit(source, row, row.sha256, written);
  return row.status === 304 ? undefined : responseRecord(source, row, row.sha256);
}

/** Whether the reader may read an object; `false` if there is none. */
function isShown({ store, reader }: WarcSource, sha256: string | null): boolean {
  return sha256 !== null && unreadable(store.read, sha256, reader) === undefined;
}

async function responseRecord(
  source: WarcSource,
  row: WarcRow,
  sha256: string,
): Promise<NewWarcRecord | undefined> {
  const { database, onDamaged } = source;
  // A capture without an HTTP head is written as a resource: the bytes alone.
  const isResource = row.status === null;
  const headOf = (bytes: number) => (isResource ? Buffer.alloc(0) : responseHead(row, bytes));
  const stored = await readStoredBody(source, sha256, headOf);
  if (!stored) {
    onDamaged(sha256);
    return undefined;
  }
  const record = common(source, row, isResource ? 'resource' : 'response');
  insertWrittenObject(database, {
    sha256,
    retrieval: row.id,
    record: record.id,
    url: targetOf(row),
    date: record.date,
  });
  return {
    ...record,
    fields: { ...about(source, row), 'WARC-Payload-Digest': `sha256:${sha256}` },
    contentType: isResource
      ? row.content_type || 'application/octet-stream'
      : 'application/http; msgtype=response',
    ...stored,
  };
}

function revisit(source: WarcSource, row: WarcRow, sha256: string, written: WrittenObject): NewWarcRecord {
  const head = row.status === null ? Buffer.alloc(0) : responseHead(row, null);
  const isShortened = row.status !== 304 && head.length > 0;
  return {
    ...common(source, row, 'revisit'),
    fields: {
      ...about(source, row),
      'WARC-Profile': row.status === 304 ? NOT_MODIFIED : SAME_PAYLOAD,
      // ISO 28500, section 6.7.2, requires it if the payload is left out of a block.
      'WARC-Truncated': isShortened ? 'length' : undefined,
      'WARC-Refers-To': written.record,
      'WARC-Refers-To-Target-URI': written.url,
      'WARC-Refers-To-Date': written.date,
      'WARC-Payload-Digest': `sha256:${sha256}`,
    },
    contentType: 'application/http; msgtype=response',
    head,
  };
}

function common<Type extends NewWarcRecord['type']>(
  { nodeKey }: WarcSource,
  row: WarcRow,
  type: Type,
  part: string = type,
) {
  const name = `urn:strongroom:${nodeKey}:retrieval:${row.id}:${part}`;
  return { type, id: recordId(name), date: row.original_observed_at ?? row.observed_at };
}

function about({ warcinfo }: WarcSource, row: WarcRow): NewWarcRecord['fields'] {
  return {
    'WARC-Warcinfo-ID': warcinfo,
    'WARC-Target-URI': targetOf(row),
    ...connectionFields(row.connection),
  };
}

/** `WARC-Protocol` and `WARC-Cipher-Suite` are extensions that other crawlers write, too. */
function connectionFields(connection: Connection | null | undefined): NewWarcRecord['fields'] {
  const tls = connection?.tls;
  return {
    'WARC-IP-Address': connection?.address,
    'WARC-Protocol': [
      ...(connection?.http ? [`http/${connection.http}`] : []),
      ...(tls ? [tls.version.toLowerCase().replace(/^tlsv/, 'tls/')] : []),
    ],
    'WARC-Cipher-Suite': tls?.cipher,
  };
}

/** The addresses of what a page showed, by its media type, as other crawlers write them. */
const SHOWN = { 'text/plain': 'urn:text:', 'text/html': 'urn:document:', 'image/png': 'urn:view:' };

/**
 * Returns the address that a file claims for a part of a saved page, and a name of its own for what has none: the file
 * itself, of which no part says anything, and parts that the page names by their content id (RFC 2392).
 */
function handedInTarget({ part_of, url, source_url, headers }: WarcRow): string {
  if (part_of === null) return url;
  if (headers.length === 0) return `urn:file:${url}`;
  const id = headers.find(([name]) => isNamed(name, 'content-id'))?.[1];
  return url === source_url && id !== undefined ? `cid:${encodeURI(id.replace(/^<|>$/g, ''))}` : url;
}

/**
 * Returns the address that the bytes belong to: for a third party's capture the captured one, not its archive's; for what
 * a page showed a name of its own, because the page itself has the address.
 */
function targetOf(row: WarcRow): string {
  if (isHandedIn(row.observer)) return handedInTarget(row);
  const type = row.content_type?.split(';', 1)[0] as keyof typeof SHOWN | undefined;
  const isShown = row.part_of !== null && row.status === null && row.error === null;
  if (isShown && type !== undefined && SHOWN[type] !== undefined) return SHOWN[type] + row.url;
  return row.observer === SELF || isRedirectedFrom(row) ? row.final_url : row.url;
}

/** Returns what the archive knows about an attempt beyond the HTTP messages. */
function metadataOf(
  { database, store, reader }: WarcSource,
  row: WarcRow,
  isWritten: boolean,
): Record<string, string | undefined> {
  const { redirects, page_label, sha256, connection } = row;
  const state = () => {
    const code = unreadable(store.read, sha256 ?? '', reader)?.code ?? 'missing or damaged';
    return code === 'not_found' ? 'not here' : code;
  };
  const events = eventsOfAttempt(database, row);
  return {
    retrieval: String(row.id),
    source: row.source,
    'source-url': row.source_url,
    observer: row.observer,
    'handed-in': handedInWords(row.observer),
    [isHandedIn(row.observer) ? 'part-of' : 'page-capture']: row.part_of ?? undefined,
    'fetched-from': row.final_url === targetOf(row) ? undefined : row.final_url,
    'observed-at': row.observed_at,
    'original-observed-at': row.original_observed_at ?? undefined,
    status: row.status === null ? undefined : String(row.status),
    error: row.error ?? undefined,
    redirects:
      redirects.length > 0 ? redirects.map(({ url, status }) => `${status} ${url}`).join(' ') : undefined,
    port: connection ? String(connection.port) : undefined,
    dns: connection?.dns?.join(', '),
    certificates: joinOrOmit((connection?.tls?.certificates ?? []).map((each) => `sha256:${each.sha256}`)),
    'duration-ms': String(row.duration_ms),
    object: sha256 === null ? undefined : `sha256:${sha256}`,
    'object-state': sha256 === null || isWritten ? undefined : state(),
    'page-label': page_label === null ? undefined : `${page_label.label}: ${page_label.reason}`,
    events: joinOrOmit(events.map(({ id, event_type }) => `${id} ${event_type}`)),
    'ledger-entries': joinOrOmit(events.map(({ ledger_entry }) => String(ledger_entry))),
  };
}

function joinOrOmit(words: readonly string[]): string | undefined {
  return words.length > 0 ? words.join(', ') : undefined;
}

/** Replaces the values of the owner's own headers. */
const HIDDEN_VALUE = '[withheld]';

/**
 * Rebuilds the head of a response with its headers in their original order. Stored bytes are those after transfer
 * decoding, so `Transfer-Encoding` and a wrong `Content-Length` get the prefix `X-Crawler-`, as in other crawlers.
 *
 * @param bytes the length of the body that follows; null if the record refers to another for it; 'omitted' if the body was
 * not kept, so that nothing is said of its length.
 */
function responseHead(
  { status, headers }: Pick<WarcRow, 'status' | 'headers'>,
  bytes: number | null | 'omitted',
): Buffer {
  const code = status ?? 200;
  const isDecoded = headers.some(([name]) => isNamed(name, 'transfer-encoding'));
  const lines: string[] = [];
  let hasLength = false;
  for (const [name, value] of headers) {
    const isLength = bytes !== null && isNamed(name, 'content-length');
    const isWrong = isLength && (isDecoded || hasLength || value.trim() !== String(bytes));
    if (isLength && !isWrong) hasLength = true;
    lines.push(`${isWrong || isNamed(name, 'transfer-encoding') ? 'X-Crawler-' : ''}${name}: ${value}`);
  }
  const isLengthChanged = lines.some((line) => line.startsWith('X-Crawler-'));
  if (typeof bytes === 'number' && !hasLength && isLengthChanged) lines.push(`Content-Length: ${bytes}`);
  return block(`HTTP/1.1 ${code} ${STATUS_CODES[code] ?? ''}`.trimEnd(), lines);
}

/**
 * Rebuilds the request as sent. The values of the owner's own headers are left out, and so is a body that is damaged or
 * that the reader may not read.
 */
async function requestBlock(
  source: WarcSource,
  row: WarcRow,
): Promise<Pick<NewWarcRecord, 'head' | 'body' | 'blockDigest'> | undefined> {
  if (row.request === null) return undefined;
  const { method, headers, body } = row.request;
  const { pathname, search } = new URL(row.final_url);
  const lines = headers.map(([name, value]) => `${name}: ${value ?? HIDDEN_VALUE}`);
  const head = block(`${method} ${pathname}${search} HTTP/1.1`, lines);
  if (!body || !isShown(source, body.sha256)) return { head };
  const stored = await readStoredBody(source, body.sha256, () => head);
  if (!stored) source.onDamaged(body.sha256);
  return stored ?? { head };
}

function isNamed(name: string, known: string): boolean {
  return name.toLowerCase() === known;
}

/** Encodes as latin1, because header values are stored with one character per byte. */
function block(first: string, lines: readonly string[]): Buffer {
  const text = [first, ...lines].map((line) => line.replace(/[\r\n]+[\t ]*/g, ' '));
  return Buffer.from(`${text.join('\r\n')}\r\n\r\n`, 'latin1');
}

/** The verified bytes of an object. */
interface StoredBody {
  bytes: number;
  /** @throws Problem `withheld`, `released` as soon as the reader may not read them any more: a record cannot end early */
  chunks(): AsyncIterable<Uint8Array>;
}

/** Objects up to this size are kept in memory between hashing and writing; larger ones are read twice. */
const HELD_BYTES = 1_048_576;

/**
 * Reads an object and hashes it, both alone and together with the head that precedes it: the digest of a block is
 * written before the block.
 *
 * @returns undefined if the bytes are missing, unreadable or no longer match the digest.
 */
async function readStoredBody(
  { store: { blobs, read: current }, database, reader }: WarcSource,
  sha256: string,
  headOf: (bytes: number) => Buffer,
): Promise<{ body: StoredBody; head: Buffer; blockDigest: string } | undefined> {
  const bytes = blobBytes(database, sha256);
  if (bytes === undefined) return undefined;
  const stillReadable = whileReadable(current, () => requireReadable(current, sha256, reader));
  const read = () => blobs.read(sha256);
  const head = headOf(bytes);
  const [payload, block] = [createHash('sha256'), createHash('sha256').update(head)];
  const held: Uint8Array[] = [];
  try {
    for await (const chunk of read()) {
      payload.update(chunk);
      block.update(chunk);
      if (bytes <= HELD_BYTES) held.push(chunk);
    }
  } catch (error) {
    if (isBlobDamageError(error)) return undefined;
    throw error;
  }
  if (payload.digest('hex') !== sha256) return undefined;
  const body = { bytes, chunks: () => guarded(bytes <= HELD_BYTES ? held : read(), stillReadable) };
  return { body, head, blockDigest: block.digest('hex') };
}

/** A record of a WARC/1.1 file (ISO 28500): named fields, and a block in one or two parts. */
export interface NewWarcRecord {
  type: 'warcinfo' | 'request' | 'response' | 'resource' | 'revisit' | 'metadata';
  id: string;
  date: string;
  /** Further fields, in order; undefined ones are left out, a list is a field for each. */
  fields: Record<string, string | readonly string[] | undefined>;
  contentType: string;
  head: Buffer;
  body?: StoredBody;
  /** The SHA-256 of the whole block; required if there is a body, else computed here. */
  blockDigest?: string;
}

/** Longer records are compressed as a stream. */
const MAX_BUFFERED_BYTES = 1_048_576;
/** Shorter records are compressed synchronously, which is faster than using the thread pool. */
const MAX_SYNC_BYTES = 32_768;

/**
 * Yields the bytes of a record, as a gzip member of its own if `isCompressed`. warcio, which reads WARC files here, is
 * not used to write them: it encodes HTTP headers as UTF-8 and merges headers of the same name.
 */
export async function* serialize(record: NewWarcRecord, isCompressed: boolean): AsyncGenerator<Uint8Array> {
  const length = record.head.length + (record.body?.bytes ?? 0);
  if (!isCompressed) return yield* pieces(record, length);
  if (length > MAX_BUFFERED_BYTES) return yield* compressed(pieces(record, length));
  const buffered: Uint8Array[] = [];
  for await (const piece of pieces(record, length)) buffered.push(piece);
  const bytes = Buffer.concat(buffered);
  yield length <= MAX_SYNC_BYTES ? gzipSync(bytes) : await promisify(gzip)(bytes);
}

async function* pieces(record: NewWarcRecord, length: number): AsyncGenerator<Uint8Array> {
  yield Buffer.concat([fieldsOf(record, length), record.head]);
  let left = record.body?.bytes ?? 0;
  for await (const chunk of record.body?.chunks() ?? []) {
    left -= chunk.length;
    yield chunk;
  }
  // The length was right when the bytes were hashed. A wrong length in the file would mislead its reader.
  if (left !== 0) throw new Error('An object changed while it was exported.');
  yield Buffer.from('\r\n\r\n');
}

function fieldsOf(
  { type, id, date, fields, contentType, head, blockDigest }: NewWarcRecord,
  length: number,
): Buffer {
  const digest = blockDigest ?? createHash('sha256').update(head).digest('hex');
  const named: NewWarcRecord['fields'] = {
    'WARC-Type': type,
    'WARC-Record-ID': id,
    'WARC-Date': date,
    ...fields,
    'WARC-Block-Digest': `sha256:${digest}`,
    'Content-Type': contentType,
    'Content-Length': String(length),
  };
  return Buffer.from(`WARC/1.1\r\n${formatNamedFields(named)}\r\n`);
}

/** Formats named fields, one per line, as in a record's head and in `application/warc-fields`. */
export function formatNamedFields(fields: NewWarcRecord['fields']): string {
  return Object.entries(fields)
    .flatMap(([name, value]) => [value ?? []].flat().map((each) => [name, each] as const))
    .map(([name, value]) => `${name}: ${value.replace(/[\r\n]+/g, ' ')}\r\n`)
    .join('');
}

async function* compressed(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const gzipStream = createGzip();
  const piped = pipeline(bytes, gzipStream);
  // A failure destroys the stream, so the iteration below throws it.
  piped.catch(() => {});
  yield* gzipStream as AsyncIterable<Uint8Array>;
  await piped;
}

/** The namespace of URLs and URNs (RFC 9562, section 6.6). */
const NAMESPACE = Buffer.from('6ba7b8119dad11d180b400c04fd430c8', 'hex');

/** Returns the id of a record: a version 5 UUID of a name, so that the id is the same in every export. */
export function recordId(name: string): string {
  const bytes = createHash('sha1').update(NAMESPACE).update(name).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x50;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return `<urn:uuid:${bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')}>`;
}
