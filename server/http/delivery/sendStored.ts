import type { IncomingMessage, ServerResponse } from 'node:http';
import { Problem } from '../../../shared/problems.ts';
import { isDamageMet, type Noticing, noticeDamage } from '../../fixity/noticeDamage.ts';
import { damaged } from './blobFile.ts';
import type { ReadyBlob } from './readyBlob.ts';
import { sendBlob } from './sendBlob.ts';

/**
 * As `sendBlob`; damage that is met is recorded before it is told.
 *
 * @throws Problem as `sendBlob`; `blob_damaged` also where the bytes cannot be read.
 */
export async function sendStored(
  store: Noticing,
  request: IncomingMessage,
  response: ServerResponse,
  ready: ReadyBlob,
): Promise<void> {
  try {
    await sendBlob(request, response, ready);
  } catch (error) {
    if (!isDamageMet(error)) throw error;
    // Whoever has half of the bytes is not left waiting for the rest.
    if (response.headersSent) response.destroy();
    await noticeDamage(store, [ready.blob.sha256]);
    throw error instanceof Problem ? error : damaged(error);
  }
}
