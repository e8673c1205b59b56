import { lookUpDigests, packsOfBlob, readBlob } from '../../../archive/blobs.ts';
import { requireIntact } from '../../../fixity/requireIntact.ts';
import type { Store } from '../../../store/store.ts';
import type { Handlers } from '../../app.ts';
import { type BlobResponse, prepareBlob, type SentBlobOptions } from '../../delivery/blobs/prepareBlob.ts';
import { sendStoredBlob } from '../../delivery/blobs/sendStoredBlob.ts';
import { ok } from '../../reply.ts';

/** A browser saves a blob as a file and never runs it. */
const AS_BYTES: SentBlobOptions = {
  contentType: 'application/octet-stream',
  disposition: 'attachment',
  headers: { 'Content-Security-Policy': "sandbox; default-src 'none'" },
};

export function blobsHandlers(store: Store): Pick<Handlers, 'readBlob' | 'lookUpDigests'> {
  return {
    lookUpDigests: ({ query }) => ok({ items: lookUpDigests(store, query.sha256) }),
    readBlob: async ({ params: { sha256 = '' }, request }) => {
      const stored = storedBlob(store, sha256)();
      await requireIntact(store, stored.blob);
      return { write: (response) => sendStoredBlob(store, request, response, prepareBlob(stored)) };
    },
  };
}

/** Returns how a blob is sent, which is the same for all requests. @throws Problem like `readBlob` */
export function storedBlob(store: Store, sha256: string): () => BlobResponse {
  const blob = readBlob(store, sha256);
  const packs = packsOfBlob(store, sha256);
  // The URLs are relative, so that the response is the same at every address of the node.
  const link = packs.map((id) => `</packs/${id}>; rel="collection"; type="text/html"`).join(', ');
  const headers = { ...AS_BYTES.headers, ...(link ? { Link: link } : {}) };
  const stored = { blob, options: { ...AS_BYTES, headers } };
  return () => stored;
}
