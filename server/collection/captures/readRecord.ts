import type { CaptureRefusal } from '../../../shared/captures.ts';
import { TooManyBytesError } from '../../store/blobs/blobStore.ts';
import { detectPageLabel } from '../record/pageLabels.ts';
import {
  type CapturedAnswer,
  errorOfStatus,
  parseCaptureDate,
  parseCaptureUrl,
  RefusedCaptureError,
} from './capture.ts';
import { decodeChunked, TruncatedChunksError } from './dechunk.ts';
import { type HttpHead, headerOf, MalformedHttpError, splitHead } from './httpMessage.ts';
import { discardPayload, type Payload, readPayload } from './readPayload.ts';
import { DigestVerifier, formatDigest, parseStatedDigest } from './recordDigest.ts';
import type { WarcRecord } from './warcRecords.ts';

/** What a revisit says that it is the same as. */
export interface Reference {
  record: string | null;
  url: string | null;
  at: string | null;
}

/** A record that holds a capture, or refers to one. */
export interface CaptureRecord {
  url: string;
  at: string;
  record_id: string | null;
  /** The digest that it states of its payload, checked where the payload is there. */
  payload_digest: string | null;
  /** Ids of the records that were made with it. */
  concurrent: string[];
  /** Null for a revisit that has no head of its own. */
  answer: CapturedAnswer | null;
  payload: Payload | null;
  refersTo: Reference | null;
}

export interface RecordServices {
  stage: Parameters<typeof readPayload>[0];
  /** The largest payload that is taken from an address. */
  maxBytesOf: (url: string) => number;
}

const SAME_PAYLOAD = /\/revisit\/identical-payload-digest\/?$/;
const NOT_MODIFIED = /\/revisit\/server-not-modified\/?$/;

/**
 * Reads a `response`, `resource` or `revisit` record. Its digests are checked where it states any.
 *
 * @throws RefusedCaptureError; DamagedCaptureFileError. Nothing is left behind then.
 */
export async function readRecord(services: RecordServices, record: WarcRecord): Promise<CaptureRecord> {
  const url = parseCaptureUrl(stripAngleBrackets(record.field('warc-target-uri') ?? ''));
  const at = parseCaptureDate(record.field('warc-date'));
  if (record.field('warc-truncated') !== undefined) throw new RefusedCaptureError('truncated');
  if (record.field('warc-segment-number') !== undefined) throw new RefusedCaptureError('segmented');
  const stated = parseStatedDigest(record.field('warc-payload-digest'));
  const common = {
    url,
    at,
    record_id: stripAngleBrackets(record.field('warc-record-id') ?? '') || null,
    payload_digest: stated ? formatDigest(stated) : null,
    concurrent: record.fields('warc-concurrent-to').map(stripAngleBrackets),
  };
  const block = new DigestVerifier(parseStatedDigest(record.field('warc-block-digest')));
  const bytes = block.through(record.block);
  const read = await refusing(() => readBlock(services, record, bytes, url));
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
  const payload = await readPayload(services.stage, digest.through(bytes), services.maxBytesOf(url));
  return checked(payload, digest.matches(), async () => {
    const said = { status: null, headers: [], content_type: record.field('content-type') ?? null };
    return answerOf(url, said, payload.beginning, null);
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
  if (head.status === 304) throw new RefusedCaptureError('unresolved_revisit');
  if (head.status < 200) throw new MalformedHttpError('The record holds an interim response.');
  const stated = parseStatedDigest(record.field('warc-payload-digest'));
  // Of a body in chunks some tools hash the bytes with their chunks, others without.
  const asSent = new DigestVerifier(stated);
  const asMeant = new DigestVerifier(stated);
  const sent = asSent.through(body);
  const isChunked = chunkedBody(head);
  const meant = isChunked ? asMeant.through(decodeChunked(sent)) : sent;
  const payload = await readPayload(services.stage, meant, services.maxBytesOf(url));
  return checked(
    payload,
    await drain(sent).then(() => asSent.matches() || (isChunked && asMeant.matches())),
    async () => {
      if (!isChunked && isShort(head, payload)) throw new RefusedCaptureError('truncated');
      const content_type = headerOf(head.headers, 'content-type') ?? null;
      return answerOf(url, { ...head, content_type }, payload.beginning, errorOfStatus(head.status));
    },
  );
}

/** The content of a payload whose digest was checked; else lets go of it. @throws RefusedCaptureError */
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

/** A revisit has no payload: the head of its response at most, and what it is the same as. */
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

function isHttp(record: WarcRecord): boolean {
  return /^application\/http\b/i.test(record.field('content-type') ?? '');
}

/** @throws RefusedCaptureError where the transfer coding is one that cannot be taken off. */
function chunkedBody({ headers }: HttpHead): boolean {
  const coding = headerOf(headers, 'transfer-encoding')?.trim().toLowerCase() ?? 'identity';
  if (coding !== 'chunked' && coding !== 'identity') throw new RefusedCaptureError('unsupported_encoding');
  return coding === 'chunked';
}

function isShort({ headers }: HttpHead, { bytes }: Payload): boolean {
  const length = headerOf(headers, 'content-length');
  return length !== undefined && /^\d+$/.test(length) && bytes < Number(length);
}

/** Reads on to the end, without ending the iteration for whoever reads after. */
async function drain(chunks: AsyncIterable<Uint8Array>): Promise<void> {
  const rest = chunks[Symbol.asyncIterator]();
  while (!(await rest.next()).done);
}

/** What is wrong with the content of one record refuses that record alone. */
async function refusing<Result>(read: () => Promise<Result>): Promise<Result> {
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

/** Some tools write an address as they write an id, in angle brackets. */
export function stripAngleBrackets(text: string): string {
  return text.trim().replace(/^<(.*)>$/, '$1');
}
