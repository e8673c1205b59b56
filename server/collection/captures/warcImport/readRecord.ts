import type { CaptureRefusal } from '../../../../shared/collection/captures.ts';
import { TooManyBytesError } from '../../../store/blobs/blobStore.ts';
import { isRedirect } from '../../fetch/redirects.ts';
import { detectPageLabel } from '../../record/pageLabels.ts';
import {
  type CapturedAnswer,
  errorOfStatus,
  parseCaptureDate,
  parseCaptureUrl,
  RefusedCaptureError,
} from '../capture.ts';
import { decodeChunked, TruncatedChunksError } from './decodeChunked.ts';
import { type HttpHead, headerOf, MalformedHttpError, splitHead } from './httpMessage.ts';
import { discardPayload, type Payload, readPayload } from './readPayload.ts';
import type { WarcRecord } from './readWarc.ts';
import { DigestVerifier, formatDigest, isDigestOfNothing, parseStatedDigest } from './recordDigest.ts';

/** The capture that a revisit refers to. */
export interface RevisitReference {
  record: string | null;
  url: string | null;
  at: string | null;
}

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
  if (head.status < 200) throw new MalformedHttpError('The record holds an interim response.');
  const stated = parseStatedDigest(record.field('warc-payload-digest'));
  // Some tools hash a chunked body with its chunk framing, others without.
  const encodedDigest = new DigestVerifier(stated);
  const decodedDigest = new DigestVerifier(stated);
  const encoded = encodedDigest.through(body);
  const isChunked = hasChunkedBody(head);
  const decoded = isChunked ? decodedDigest.through(decodeChunked(encoded)) : encoded;
  const payload = await readPayload(services.staging, decoded, services.maxBytesOf(url));
  return checked(
    payload,
    await drain(encoded).then(() => encodedDigest.matches() || (isChunked && decodedDigest.matches())),
    async () => {
      if (!isChunked && isShort(head, payload)) throw new RefusedCaptureError('truncated');
      const content_type = headerOf(head.headers, 'content-type') ?? null;
      return answerOf(url, { ...head, content_type }, payload.beginning, errorOfStatus(head.status));
    },
  );
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

async function answerOf(
  url: string,
  { status, headers, content_type }: Pick<CapturedAnswer, 'status' | 'headers' | 'content_type'>,
  beginning: Buffer,
  error: CapturedAnswer['error'],
): Promise<CapturedAnswer> {
  const page_label = await detectPageLabel({ url, final_url: url, status, headers, content_type, beginning });
  return { status, headers, content_type, error, page_label };
}

function isTruncated(record: WarcRecord): boolean {
  return record.field('warc-truncated') !== undefined;
}

function isHttp(record: WarcRecord): boolean {
  return /^application\/http\b/i.test(record.field('content-type') ?? '');
}

/** @throws RefusedCaptureError if the transfer coding cannot be decoded. */
function hasChunkedBody({ headers }: HttpHead): boolean {
  const coding = headerOf(headers, 'transfer-encoding')?.trim().toLowerCase() ?? 'identity';
  if (coding !== 'chunked' && coding !== 'identity') throw new RefusedCaptureError('unsupported_encoding');
  return coding === 'chunked';
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
  if (error instanceof TruncatedChunksError) return 'truncated';
  return error instanceof TooManyBytesError ? 'too_large' : undefined;
}

/** Removes the angle brackets that ids have, and that some tools put around addresses too. */
export function stripAngleBrackets(text: string): string {
  return text.trim().replace(/^<(.*)>$/, '$1');
}
