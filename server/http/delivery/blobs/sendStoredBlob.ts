import type { IncomingMessage, ServerResponse } from 'node:http';
import { Problem } from '../../../../shared/problems.ts';
import { confirmDamage, type DamageContext, isBlobDamageError } from '../../../fixity/confirmDamage.ts';
import { blobDamaged } from './blobFile.ts';
import type { PreparedBlob } from './prepareBlob.ts';
import { sendBlob } from './sendBlob.ts';

/**
 * Like `sendBlob`, but records damage that is found before the error is reported. A blob that has left this disk is read
 * from a copy.
 *
 * @throws Problem like `sendBlob`; `blob_damaged` also if the bytes cannot be read; `copy_unreachable`.
 */
export async function sendStoredBlob(
  store: DamageContext,
  request: IncomingMessage,
  response: ServerResponse,
  ready: PreparedBlob,
): Promise<void> {
  try {
    await sendBlob(request, response, ready).catch((error: unknown) => {
      // Asked only now, so that reading a file that is here costs nothing more.
      const isOffloaded = store.blobs.away.bytesOf(ready.blob.sha256) !== undefined;
      if (!isOffloaded || !isBlobDamageError(error) || response.headersSent) throw error;
      return sendAway(store, request, response, ready);
    });
  } catch (error) {
    if (!isBlobDamageError(error)) throw error;
    // Do not let the reader of a partial response wait until the damage is recorded.
    if (response.headersSent) response.destroy();
    await confirmDamage(store, [ready.blob.sha256]);
    throw error instanceof Problem ? error : blobDamaged(error);
  }
}

/** Up to this size, a blob is fetched whole before its first byte is sent, so that the next reader finds it here. */
const FETCHED_UP_TO_BYTES = 4_194_304;

async function sendAway(
  { blobs: { away } }: Pick<DamageContext, 'blobs'>,
  request: IncomingMessage,
  response: ServerResponse,
  ready: PreparedBlob,
): Promise<void> {
  const { blob } = ready;
  const isFetched =
    request.method !== 'HEAD' && (blob.bytes <= FETCHED_UP_TO_BYTES || away.isCached(blob.sha256));
  if (!isFetched) return sendBlob(request, response, ready, (range) => away.stream(blob.sha256, range));
  const { file, release } = await away.borrow(blob.sha256);
  try {
    await sendBlob(request, response, { ...ready, blob: { ...blob, file } });
  } finally {
    release();
  }
}
