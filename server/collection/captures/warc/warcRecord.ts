import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createGzip, gzip, gzipSync } from 'node:zlib';
import type { StoredBody } from './storedBody.ts';

/** A record of a WARC/1.1 file (ISO 28500): its named fields, and its block in one or two parts. */
export interface WarcRecord {
  type: 'warcinfo' | 'request' | 'response' | 'resource' | 'revisit' | 'metadata';
  id: string;
  date: string;
  /** The further fields, in their order; those that are undefined are left out. */
  fields: Record<string, string | undefined>;
  contentType: string;
  head: Buffer;
  body?: StoredBody;
  /** The SHA-256 of the whole block, where there is a body; else it is made here. */
  blockDigest?: string;
}

/** What is shorter is packed in one piece, and what is short at once: that is done sooner than a thread is asked. */
const WHOLE_BYTES = 1_048_576;
const AT_ONCE_BYTES = 32_768;

/**
 * The bytes of a record, packed as a member of its own where `isPacked`. The library that reads WARC files here is not
 * used to write them: it writes HTTP headers as UTF-8, where they are bytes, and gathers the headers of one name.
 */
export async function* serialize(record: WarcRecord, isPacked: boolean): AsyncGenerator<Uint8Array> {
  const length = record.head.length + (record.body?.bytes ?? 0);
  if (!isPacked) return yield* pieces(record, length);
  if (length > WHOLE_BYTES) return yield* packed(pieces(record, length));
  const whole: Uint8Array[] = [];
  for await (const piece of pieces(record, length)) whole.push(piece);
  const bytes = Buffer.concat(whole);
  yield length <= AT_ONCE_BYTES ? gzipSync(bytes) : await promisify(gzip)(bytes);
}

async function* pieces(record: WarcRecord, length: number): AsyncGenerator<Uint8Array> {
  yield Buffer.concat([fieldsOf(record, length), record.head]);
  let left = record.body?.bytes ?? 0;
  for await (const chunk of record.body?.chunks() ?? []) {
    left -= chunk.length;
    yield chunk;
  }
  // The bytes were whole when they were hashed; a file that says a length it has not would mislead its reader.
  if (left !== 0) throw new Error('An object changed while it was exported.');
  yield Buffer.from('\r\n\r\n');
}

function fieldsOf(
  { type, id, date, fields, contentType, head, blockDigest }: WarcRecord,
  length: number,
): Buffer {
  const digest = blockDigest ?? createHash('sha256').update(head).digest('hex');
  const named: Record<string, string | undefined> = {
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

/** Named fields, a line each, as they stand in a record's head and in `application/warc-fields`. */
export function formatNamedFields(fields: Record<string, string | undefined>): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}: ${String(value).replace(/[\r\n]+/g, ' ')}\r\n`)
    .join('');
}

async function* packed(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const packer = createGzip();
  const fed = pipeline(bytes, packer);
  // Whatever fails there ends the iteration here.
  fed.catch(() => {});
  yield* packer as AsyncIterable<Uint8Array>;
  await fed;
}

/** The namespace of URLs and URNs (RFC 9562, section 6.6). */
const NAMESPACE = Buffer.from('6ba7b8119dad11d180b400c04fd430c8', 'hex');

/** The id of a record: the UUID (version 5) of a name, so that the same name has the same id in every export. */
export function recordId(name: string): string {
  const bytes = createHash('sha1').update(NAMESPACE).update(name).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x50;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return `<urn:uuid:${bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')}>`;
}
