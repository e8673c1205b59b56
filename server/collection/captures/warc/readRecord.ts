import type { CaptureRefusal } from '../../../../shared/collection/captures.ts';
import { TooManyBytesError } from '../../../store/blobs/blobStore.ts';
import { isRedirect, withoutSessionHeaders } from '../../fetch/fetchObject.ts';
import {
  ByteSource,
  decodeChunked,
  decodeTransfer,
  type HttpHead,
  headerOf,
  isDecodingError,
  MalformedHttpError,
  TruncatedBodyError,
  transferCodingsOf,
} from '../../fetch/httpMessage.ts';
import { detectPageLabel } from '../../record/quality/judgePage.ts';
import {
  type CapturedAnswer,
  errorOfStatus,
  parseCaptureDate,
  parseCaptureUrl,
  RefusedCaptureError,
} from '../capture.ts';
import { bytesOf, discardPayload, type Payload, readPayload, splitHead } from './httpMessage.ts';
import type { WarcRecord } from './readWarc.ts';
import type { RevisitReference } from './revisits.ts';
import {
  DigestVerifier,
  formatDigest,
  isDigestOfNothing,
  parseStatedDigest,
  type StatedDigest,
} from './statedDigest.ts';

/** A record that holds a capture or refers to one. */
export interface CaptureRecord {
  url: string;
  at: string;
  record_id: string | null;
  /** The payload digest that the record states, verified if the payload is present. */
  payload_digest: string | null;
  /** Ids of the records captured together with this one (WARC-Concurrent-To). */
  concurrent: string[];
  /** Null for a revisit without an HTTP head. */
  answer: CapturedAnswer | null;
  /** Null for a revisit, and for a redirect without its body. */
  payload: Payload | null;
  refersTo: RevisitReference | null;
}

export interface RecordServices {
  staging: Parameters<typeof readPayload>[0];
  /** Returns the size limit for payloads of an address. */
  maxBytesOf: (url: string) => number;
}

const SAME_PAYLOAD = /\/revisit\/(?:uri-agnostic-)?identical-payload-digest\/?$/;
const NOT_MODIFIED = /\/revisit\/server-not-modified\/?$/;

/**
 * Reads a `response`, `resource` or `revisit` record and verifies the digests that it states.
 *
 * @throws RefusedCaptureError; DamagedCaptureFileError. No staged file remains after an error.
 */
export async function readRecord(services: RecordServices, record: WarcRecord): Promise<CaptureRecord> {
  const url = parseCaptureUrl(stripAngleBrackets(record.field('warc-target-uri') ?? ''));
  const at = parseCaptureDate(record.field('warc-date'));
  // A revisit is truncated by definition: it leaves out the payload that it refers to (ISO 28500, section 6.7.2).
  if (record.type === 'resource' && isTruncated(record)) throw new RefusedCaptureError('truncated');
  if (record.field('warc-segment-number') !== undefined) throw new RefusedCaptureError('segmented');
  const stated = parseStatedDigest(record.field('warc-payload-digest'));
  const common = {
    url,
    at,
    record_id: stripAngleBrackets(record.field('warc-record-id') ?? '') || null,
    payload_digest: stated ? formatDigest(stated) : null,
    concurrent: record.fields('warc-concurrent-to').map(stripAngleBrackets),
  };
  const ofBlock = parseStatedDigest(record.field('warc-block-digest'));
  // wget states the digest of an empty block for each revisit, although it writes the HTTP head.
  const isUnhashed = record.type === 'revisit' && isDigestOfNothing(ofBlock);
  const block = new DigestVerifier(isUnhashed ? undefined : ofBlock);
  const bytes = block.through(record.block);
  const read = await refuseOnContentError(() => readBlock(services, record, bytes, url));
  try {
    await drain(bytes);
    if (!block.matches()) throw new RefusedCaptureError('digest_mismatch');
    return { ...common, ...read };
  } catch (error) {
    if (read.payload) await discardPayload(read.payload);
    throw error;
  }
}

type Content = Pick<CaptureRecord, 'answer' | 'payload' | 'refersTo'>;

function readBlock(
  services: RecordServices,
  record: WarcRecord,
  bytes: AsyncIterable<Uint8Array>,
  url: string,
): Promise<Content> {
  if (record.type === 'resource') return readResource(services, record, bytes, url);
  return record.type === 'revisit'
    ? readRevisit(record, bytes, url)
    : readResponse(services, record, bytes, url);
}

async function readResource(
  services: RecordServices,
  record: WarcRecord,
  bytes: AsyncIterable<Uint8Array>,
  url: string,
): Promise<Content> {
  const digest = new DigestVerifier(parseStatedDigest(record.field('warc-payload-digest')));
  const payload = await readPayload(services.staging, digest.through(bytes), services.maxBytesOf(url));
  return checked(payload, digest.matches(), async () => {
    const head = { status: null, headers: [], content_type: record.field('content-type') ?? null };
    return answerOf(url, head, payload.beginning, null);
  });
}

async function readResponse(
  services: RecordServices,
  record: WarcRecord,
  bytes: AsyncIterable<Uint8Array>,
  url: string,
): Promise<Content> {
  if (!isHttp(record)) throw new MalformedHttpError('The record holds no HTTP response.');
  const { body, ...head } = await splitHead(bytes);
  if (isTruncated(record)) {
    // A redirect leads to another capture without its body.
    const isWhole = isRedirect(head) && headerOf(head.headers, 'location') !== undefined;
    if (!isWhole) throw new RefusedCaptureError('truncated');
    const read = { ...head, content_type: headerOf(head.headers, 'content-type') ?? null };
    const answer = await answerOf(url, read, Buffer.alloc(0), errorOfStatus(head.status));
    return { answer, payload: null, refersTo: null };
  }
  if (head.status === 304) throw new RefusedCaptureError('unresolved_revisit');
  if (head.status >= 100 && head.status < 200)
    throw new MalformedHttpError('The record holds an interim response.');
  const stated = parseStatedDigest(record.field('warc-payload-digest'));
  const codings = transferCodingsOf(head.headers).filter((coding) => coding !== 'identity');
  const maxBytes = services.maxBytesOf(url);
  const digest = new DigestVerifier(stated);
  const raw = await readPayload(
    services.staging,
    digest.through(body),
    codings.length === 0 ? maxBytes : maxEncoded(maxBytes),
  );
  const asIs = { payload: raw, matches: digest.matches() };
  const read =
    codings.length === 0 ? asIs : await decodePayload(services, asIs, stated, { codings, maxBytes });
  return checked(read.payload, read.matches, async () => {
    if (codings.length === 0 && isShort(head, read.payload)) throw new RefusedCaptureError('truncated');
    const content_type = headerOf(head.headers, 'content-type') ?? null;
    return answerOf(url, { ...head, content_type }, read.payload.beginning, errorOfStatus(head.status));
  });
}

/** A body as it is in the record, or without its transfer codings. */
interface ReadBody {
  payload: Payload;
  /** Whether the stated digest is that of the body, with or without its transfer codings; true if none is stated. */
  matches: boolean;
}

/** Chunks of one byte have six bytes each. */
function maxEncoded(maxBytes: number): number {
  return 6 * maxBytes + 65_536;
}

const DECODABLE: ReadonlySet<string> = new Set(['chunked', 'gzip', 'x-gzip', 'deflate']);

/**
 * Removes the transfer codings that a head names from its body. Many tools write a body that they have decoded already, and
 * keep the head. So the body is taken as it is unless it has the form of its coding. No bytes are dropped.
 * Some tools state the digest of the body with its chunks, others without.
 *
 * @throws RefusedCaptureError; MalformedHttpError; TruncatedBodyError. The body is discarded then.
 */
async function decodePayload(
  { staging }: RecordServices,
  asIs: ReadBody,
  stated: StatedDigest | undefined,
  { codings, maxBytes }: { codings: readonly string[]; maxBytes: number },
): Promise<ReadBody> {
  const isProven = stated !== undefined && asIs.matches;
  try {
    if (!codings.every((coding) => DECODABLE.has(coding)))
      throw new RefusedCaptureError('unsupported_encoding');
    const source = new ByteSource(iterate(bytesOf(asIs.payload)));
    const progress = { sizes: 0, chunks: 0 };
    const decodedDigest = new DigestVerifier(stated);
    let bytes: AsyncGenerator<Buffer, void, undefined> = codings.includes('chunked')
      ? decodeChunked(source, progress)
      : source.rest();
    const packed = codings.filter((coding) => coding !== 'chunked').reverse();
    for (const coding of packed) bytes = decodeTransfer(bytes, coding === 'deflate' ? 'deflate' : 'gzip');
    const decoded = await readPayload(staging, decodedDigest.through(bytes), maxBytes).catch(
      (error: unknown) => {
        const isOfBody =
          error instanceof MalformedHttpError ||
          error instanceof TruncatedBodyError ||
          isDecodingError(error);
        if (!isOfBody) throw error;
        // The digest proves that the body is whole as it is, or it never began as chunks.
        const began = error instanceof MalformedHttpError ? progress.chunks > 0 : progress.sizes > 0;
        if (!isProven && (began || packed.length > 0))
          throw packed.length > 0 && !began ? new RefusedCaptureError('unsupported_encoding') : error;
        return undefined;
      },
    );
    if (decoded === undefined) return { ...asIs, matches: await fits(asIs.payload, asIs.matches, maxBytes) };
    const isOfDecoded = decodedDigest.matches();
    const hasMore = await hasMoreThanLineEnds(source);
    const isWhole =
      isOfDecoded && stated !== undefined ? true : !hasMore && !(isProven && decoded.bytes === 0);
    const [kept, dropped] = isWhole ? [decoded, asIs.payload] : [asIs.payload, decoded];
    await discardPayload(dropped);
    return { payload: kept, matches: asIs.matches || (isWhole && isOfDecoded) };
  } catch (error) {
    await discardPayload(asIs.payload);
    throw error;
  }
}

/** A body that is kept as it is may be no larger than any other. @throws TooManyBytesError */
async function fits({ bytes }: Payload, matches: boolean, maxBytes: number): Promise<boolean> {
  if (bytes > maxBytes) throw new TooManyBytesError(maxBytes);
  return matches;
}

async function* iterate(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  yield* chunks;
}

/** Whether anything but empty lines follows the last chunk. */
async function hasMoreThanLineEnds(source: ByteSource): Promise<boolean> {
  for await (const piece of source.rest()) if (!/^[\r\n]*$/.test(piece.toString('latin1'))) return true;
  return false;
}

/** Returns the content if the payload's digest matched; discards the payload otherwise. @throws RefusedCaptureError */
async function checked(
  payload: Payload,
  matches: boolean,
  answer: () => Promise<CapturedAnswer>,
): Promise<Content> {
  try {
    if (!matches) throw new RefusedCaptureError('digest_mismatch');
    return { answer: await answer(), payload, refersTo: null };
  } catch (error) {
    await discardPayload(payload);
    throw error;
  }
}

/** A revisit has no payload: at most an HTTP head, and a reference to another capture. */
async function readRevisit(
  record: WarcRecord,
  bytes: AsyncIterable<Uint8Array>,
  url: string,
): Promise<Content> {
  const profile = record.field('warc-profile') ?? '';
  if (!SAME_PAYLOAD.test(profile) && !NOT_MODIFIED.test(profile))
    throw new RefusedCaptureError('unresolved_revisit');
  const referred = record.field('warc-refers-to-date');
  const refersTo = {
    record: stripAngleBrackets(record.field('warc-refers-to') ?? '') || null,
    url: record.field('warc-refers-to-target-uri')
      ? parseCaptureUrl(stripAngleBrackets(record.field('warc-refers-to-target-uri') ?? ''))
      : null,
    at: referred === undefined ? null : parseCaptureDate(referred),
  };
  if (record.length === 0 || !isHttp(record)) return { answer: null, payload: null, refersTo };
  const head = await splitHead(bytes);
  const content_type = headerOf(head.headers, 'content-type') ?? null;
  const error = head.status === 304 ? null : errorOfStatus(head.status);
  const answer = await answerOf(url, { ...head, content_type }, Buffer.alloc(0), error);
  return { answer, payload: null, refersTo };
}

/**
 * Returns what is recorded of an answer. The headers become a public record of this node, so those that carry a session are
 * left out: a browser may have written the file while somebody was signed in.
 */
async function answerOf(
  url: string,
  { status, headers, content_type }: Pick<CapturedAnswer, 'status' | 'headers' | 'content_type'>,
  beginning: Buffer,
  error: CapturedAnswer['error'],
): Promise<CapturedAnswer> {
  const page_label = await detectPageLabel({ url, final_url: url, status, headers, content_type, beginning });
  return { status, headers: withoutSessionHeaders(headers), content_type, error, page_label };
}

function isTruncated(record: WarcRecord): boolean {
  return record.field('warc-truncated') !== undefined;
}

function isHttp(record: WarcRecord): boolean {
  return /^application\/http\b/i.test(record.field('content-type') ?? '');
}

function isShort({ headers }: HttpHead, { bytes }: Payload): boolean {
  const length = headerOf(headers, 'content-length');
  return length !== undefined && /^\d+$/.test(length) && bytes < Number(length);
}

/** Reads to the end. Does not call `return` on the iterator, which other readers share. */
async function drain(chunks: AsyncIterable<Uint8Array>): Promise<void> {
  const rest = chunks[Symbol.asyncIterator]();
  while (!(await rest.next()).done);
}

/** Turns an error in the content of one record into a refusal of that record. */
async function refuseOnContentError<Result>(read: () => Promise<Result>): Promise<Result> {
  try {
    return await read();
  } catch (error) {
    const reason = reasonOf(error);
    throw reason === undefined ? error : new RefusedCaptureError(reason);
  }
}

function reasonOf(error: unknown): CaptureRefusal | undefined {
  if (error instanceof MalformedHttpError) return 'malformed_http';
  if (error instanceof TruncatedBodyError) return 'truncated';
  return error instanceof TooManyBytesError ? 'too_large' : undefined;
}

/** Removes the angle brackets that ids have, and that some tools put around addresses too. */
export function stripAngleBrackets(text: string): string {
  return text.trim().replace(/^<(.*)>$/, '$1');
}
