import type { IncomingMessage } from 'node:http';
import { type ArchivedObject, readObject, readObjectMetadata } from '../../../collection/timeline/objects.ts';
import { requireIntact } from '../../../fixity/requireIntact.ts';
import type { Store } from '../../../store/store.ts';
import type { Handlers } from '../../app.ts';
import { type BlobResponse, prepareBlob } from '../../delivery/blobs/prepareBlob.ts';
import { sendStoredBlob } from '../../delivery/blobs/sendStoredBlob.ts';
import { ok } from '../../reply.ts';

/** The policy prevents an archived page from running scripts or loading anything when a browser shows it. */
export const SEALED = { 'Content-Security-Policy': "sandbox; default-src 'none'", Vary: 'Sec-Fetch-Dest' };
/** The policy only works for documents. If a page loads an object as a script, its type is hidden, so browsers refuse it. */
const PASSIVE_USES: ReadonlySet<unknown> = new Set(['document', 'empty', 'image', 'audio', 'video', 'track']);

/** Handlers for archived objects. */
export function objectHandlers(store: Store): Pick<Handlers, 'readObject' | 'readObjectMetadata'> {
  return {
    readObject: async ({ params: { sha256 = '' }, request }) => {
      const stored = storedObject(store, sha256)(request);
      await requireIntact(store, stored.blob);
      return { write: (response) => sendStoredBlob(store, request, response, prepareBlob(stored)) };
    },
    readObjectMetadata: async ({ params }) => ok(await readObjectMetadata(store, params.sha256 ?? '')),
  };
}

/** Returns how an archived object is sent, depending on the request. @throws Problem like `readObject` */
export function storedObject(store: Store, sha256: string): (request: IncomingMessage) => BlobResponse {
  return sealed(readObject(store, sha256));
}

/** Like `storedObject`, for an object that was already read from the database. */
export function sealed({
  contentType,
  ...blob
}: ArchivedObject): (request: Pick<IncomingMessage, 'headers'>) => BlobResponse {
  const sent = (type: string) => ({
    blob,
    options: { contentType: type, disposition: 'attachment', headers: SEALED },
  });
  const [typed, untyped] = [sent(contentType), sent('application/octet-stream')];
  return ({ headers }) => {
    const use = headers['sec-fetch-dest'];
    return use === undefined || PASSIVE_USES.has(use) ? typed : untyped;
  };
}
