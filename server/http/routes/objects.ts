import type { IncomingMessage } from 'node:http';
import { type ArchivedObject, readObject, readObjectMetadata } from '../../collection/timeline/objects.ts';
import { requireIntact } from '../../fixity/requireIntact.ts';
import type { Store } from '../../store/store.ts';
import type { Handlers } from '../app.ts';
import { prepareBlob, type StoredBytes } from '../delivery/prepareBlob.ts';
import { sendStoredBlob } from '../delivery/sendStoredBlob.ts';
import { ok } from '../reply.ts';

/** An archived page runs nothing and reaches nothing, wherever a browser shows it. */
const SEALED = { 'Content-Security-Policy': "sandbox; default-src 'none'", Vary: 'Sec-Fetch-Dest' };
/** The seal is on a document, not on a script that a page takes from here: to that, no type is told, so it is refused. */
const PASSIVE_USES: ReadonlySet<unknown> = new Set(['document', 'empty', 'image', 'audio', 'video', 'track']);

/** The archived objects, byte by byte as they were retrieved. */
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

/** An archived object as it may be sent to whoever asks. @throws Problem as `readObject` */
export function storedObject(store: Store, sha256: string): (request: IncomingMessage) => StoredBytes {
  return sealed(readObject(store, sha256));
}

/** As `storedObject`, for an object that was found. */
export function sealed({
  contentType,
  ...blob
}: ArchivedObject): (request: Pick<IncomingMessage, 'headers'>) => StoredBytes {
  const sent = (type: string) => ({
    blob,
    options: { contentType: type, disposition: 'attachment', headers: SEALED },
  });
  const [withType, asBytes] = [sent(contentType), sent('application/octet-stream')];
  return ({ headers }) => {
    const use = headers['sec-fetch-dest'];
    return use === undefined || PASSIVE_USES.has(use) ? withType : asBytes;
  };
}
