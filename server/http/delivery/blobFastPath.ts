import type { IncomingMessage, RequestListener } from 'node:http';
import { isDamaged } from '../../fixity/damages.ts';
import { damagedBlobProblem } from '../../fixity/requireIntact.ts';
import type { Log } from '../../runtime/log.ts';
import { commitScopedCache } from '../../store/commitScopedCache.ts';
import type { Store } from '../../store/store.ts';
import { abortResponse } from '../problems.ts';
import { storedBlob } from '../routes/blobs.ts';
import { storedObject } from '../routes/objects.ts';
import type { Guards } from '../security/guards.ts';
import { type PreparedBlob, prepareBlob, type StoredBytes } from './prepareBlob.ts';
import { sendStoredBlob } from './sendStoredBlob.ts';

export interface BlobFastPathConfig {
  store: Store;
  guards: Guards;
  log: Log;
}

const STORED_BYTES = /^\/(api\/blobs|archive)\/([0-9a-f]{64})$/;
/** Addresses whose bytes are ready to be sent, of some kilobytes each. */
const MOST_READY = 1_000;

/**
 * Sends the bytes of blobs and objects without Express, which costs more than sending some kilobytes does. The guards
 * are the same. Whatever is not just sent goes the ordinary way: other addresses and methods, and every refusal, which
 * comes to the same refusal there.
 */
export function blobFastPath(config: BlobFastPathConfig, otherwise: RequestListener): RequestListener {
  const { store, guards, log } = config;
  const readyAt = commitScopedCache(store, MOST_READY, (url) => findStored(store, url));
  return (request, response) => {
    const { url = '', method } = request;
    if ((method !== 'GET' && method !== 'HEAD') || !STORED_BYTES.test(url))
      return otherwise(request, response);
    const fail = (error: unknown) => {
      if (response.headersSent) abortResponse(log, error, request, response);
      else otherwise(request, response);
    };
    try {
      guards.admit(request, url);
      guards.allow(request, 'read');
      const ready = readyAt(url)(request, guards.headersFor(request, url));
      sendStoredBlob(store, request, response, ready).catch(fail);
    } catch (error) {
      fail(error);
    }
  };
}

/** Stored bytes as they are sent to whoever asks, with headers that the answer has besides. */
type Ready = (request: IncomingMessage, besides: Readonly<Record<string, string>>) => PreparedBlob;

/** @throws Problem where there is nothing, and where it is known to be damaged: whether it still is, is looked at there */
function findStored(store: Store, url: string): Ready {
  const [, place, sha256 = ''] = STORED_BYTES.exec(url) ?? [];
  const storedFor = place === 'archive' ? storedObject(store, sha256) : storedBlob(store, sha256);
  if (isDamaged(store.read, sha256)) throw damagedBlobProblem();
  return readyOnce(storedFor);
}

/** There are a few sets of headers, the same objects each time, and two ways at most to send an object. */
function readyOnce(storedFor: (request: IncomingMessage) => StoredBytes): Ready {
  const made: { stored: StoredBytes; besides: object; ready: PreparedBlob }[] = [];
  return (request, besides) => {
    const stored = storedFor(request);
    const known = made.find((each) => each.stored === stored && each.besides === besides);
    if (known) return known.ready;
    const { blob, options } = stored;
    const ready = prepareBlob({ blob, options: { ...options, headers: { ...besides, ...options.headers } } });
    made.push({ stored, besides, ready });
    return ready;
  };
}
