import { hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { TooManyBytesError } from '../../../store/blobs/blobStore.ts';
import type { StagedFile, Staging } from '../../../store/blobs/staging.ts';
import {
  endOfHead,
  type HttpHead,
  MAX_HEAD_BYTES,
  MalformedHttpError,
  parseHead,
} from '../../fetch/httpMessage.ts';

/**
 * Splits a block into the head of its HTTP message (RFC 9112, section 2) and the body. A block that ends with its head,
 * such as that of a revisit, has an empty body.
 *
 * @throws MalformedHttpError; whatever the block throws.
 */
export async function splitHead(
  block: AsyncIterable<Uint8Array>,
): Promise<HttpHead & { body: AsyncIterable<Uint8Array> }> {
  const chunks = block[Symbol.asyncIterator]();
  let held: Buffer = Buffer.alloc(0);
  let end = -1;
  for (;;) {
    const { done, value } = await chunks.next();
    if (done) break;
    held =
      held.length === 0
        ? Buffer.from(value.buffer, value.byteOffset, value.length)
        : Buffer.concat([held, value]);
    end = endOfHead(held);
    if (end >= 0) break;
    if (held.length > MAX_HEAD_BYTES) throw new MalformedHttpError('The head of the response has no end.');
  }
  const isWhole = end >= 0;
  if (end > MAX_HEAD_BYTES) throw new MalformedHttpError('The head of the response is too long.');
  const head = parseHead(held.toString('latin1', 0, isWhole ? end : held.length));
  return { ...head, body: isWhole ? rest(held.subarray(end), chunks) : nothing() };
}

async function* rest(
  first: Uint8Array,
  chunks: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (first.length > 0) yield first;
  for (;;) {
    const { done, value } = await chunks.next();
    if (done) return;
    yield value;
  }
}

async function* nothing(): AsyncGenerator<Uint8Array, void, undefined> {}

/** A complete payload; small ones are held in memory, others staged on disk. */
export interface Payload {
  sha256: string;
  bytes: number;
  content: Buffer | StagedFile;
  /** The first bytes; a page's title is read from them. */
  beginning: Buffer;
}

/** Payloads up to this size are held in memory, so that many can be written together. */
const SMALL_BYTES = 131_072;
const BEGINNING_BYTES = 65_536;

/**
 * Reads a payload to its end.
 *
 * @throws TooManyBytesError once the payload exceeds `maxBytes`; whatever the chunks throw. No staged file remains.
 */
export async function readPayload(
  staging: Pick<Staging, 'stageFile'>,
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<Payload> {
  const source = chunks[Symbol.asyncIterator]();
  const held: Uint8Array[] = [];
  let bytes = 0;
  for (;;) {
    const { done, value } = await source.next();
    if (done) {
      const content = Buffer.concat(held, bytes);
      const sha256 = hash('sha256', content, 'hex');
      return { sha256, bytes, content, beginning: content.subarray(0, BEGINNING_BYTES) };
    }
    held.push(value);
    bytes += value.length;
    if (bytes > maxBytes) throw new TooManyBytesError(maxBytes);
    if (bytes > SMALL_BYTES) break;
  }
  const beginning = Buffer.concat(held, bytes).subarray(0, BEGINNING_BYTES);
  const content = await staging.stageFile(concat(held, source), maxBytes);
  return { sha256: content.sha256, bytes: content.bytes, content, beginning };
}

async function* concat(
  first: readonly Uint8Array[],
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  yield* first;
  for (;;) {
    const { done, value } = await rest.next();
    if (done) return;
    yield value;
  }
}

/** Returns the bytes of a payload. */
export function bytesOf({ content }: Payload): AsyncIterable<Uint8Array> | Iterable<Uint8Array> {
  return Buffer.isBuffer(content) ? [content] : createReadStream(content.file);
}

/** Discards a payload that is not kept. */
export async function discardPayload({ content }: Payload): Promise<void> {
  if (!Buffer.isBuffer(content)) await content.discard();
}
