import type { IncomingMessage, ServerResponse } from 'node:http';
import { Problem } from '../../../shared/problems.ts';
import { confirmDamage, type DamageContext, isBlobDamageError } from '../../fixity/confirmDamage.ts';
import { blobDamaged } from './blobFile.ts';
import type { PreparedBlob } from './prepareBlob.ts';
import { sendBlob } from './sendBlob.ts';

/**
 * Like `sendBlob`, but records damage that is found before the error is reported.
 *
 * @throws Problem like `sendBlob`; `blob_damaged` also if the bytes cannot be read.
 */
export async function sendStoredBlob(
  store: DamageContext,
  request: IncomingMessage,
  response: ServerResponse,
  ready: PreparedBlob,
): Promise<void> {
  try {
    await sendBlob(request, response, ready);
  } catch (error) {
    if (!isBlobDamageError(error)) throw error;
    // Do not let the reader of a partial response wait until the damage is recorded.
    if (response.headersSent) response.destroy();
    await confirmDamage(store, [ready.blob.sha256]);
    throw error instanceof Problem ? error : blobDamaged(error);
  }
}
