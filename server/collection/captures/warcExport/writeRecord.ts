import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createGzip, gzip, gzipSync } from 'node:zlib';
import type { StoredBody } from './storedBody.ts';

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
