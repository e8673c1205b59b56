import { hash } from 'node:crypto';
import { TooManyBytesError } from '../../../store/blobs/blobStore.ts';
import type { StagedBlob, Staging } from '../../../store/blobs/staging.ts';

/** A complete payload; small ones are held in memory, others staged on disk. */
export interface Payload {
  sha256: string;
  bytes: number;
  content: Buffer | StagedBlob;
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
  staging: Pick<Staging, 'stage'>,
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
  const content = await staging.stage(concat(held, source), maxBytes);
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

/** Discards a payload that is not kept. */
export async function discardPayload({ content }: Payload): Promise<void> {
  if (!Buffer.isBuffer(content)) await content.discard();
}
