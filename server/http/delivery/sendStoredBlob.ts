import type { IncomingMessage, ServerResponse } from 'node:http';
import { Problem } from '../../../shared/problems.ts';
import { confirmDamage, type DamageContext, isBlobDamageError } from '../../fixity/confirmDamage.ts';
import { damaged } from './blobFile.ts';
import type { PreparedBlob } from './prepareBlob.ts';
import { sendBlob } from './sendBlob.ts';

/**
 * As `sendBlob`; damage that is met is recorded before it is told.
 *
 * @throws Problem as `sendBlob`; `blob_damaged` also where the bytes cannot be read.
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
    // Whoever has half of the bytes is not left waiting for the rest.
    if (response.headersSent) response.destroy();
    await confirmDamage(store, [ready.blob.sha256]);
    throw error instanceof Problem ? error : damaged(error);
  }
}
