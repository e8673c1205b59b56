import type { IncomingMessage, RequestListener } from 'node:http';
import { isDamaged } from '../../../fixity/damages.ts';
import { damagedBlobProblem } from '../../../fixity/requireIntact.ts';
import type { Log } from '../../../runtime/log.ts';
import { commitScopedCache } from '../../../store/commitScopedCache.ts';
import type { Store } from '../../../store/store.ts';
import { abortResponse } from '../../problems.ts';
import { storedBlob } from '../../routes/archive/blobs.ts';
import { storedObject } from '../../routes/collection/objects.ts';
import type { Guards } from '../../security/guards.ts';
import { type BlobResponse, type PreparedBlob, prepareBlob } from './prepareBlob.ts';
import { sendStoredBlob } from './sendStoredBlob.ts';

export interface BlobFastPathConfig {
  store: Store;
  guards: Guards;
  log: Log;
}

const STORED_BYTES = /^\/(api\/blobs|archive)\/([0-9a-f]{64})$/;
/** The number of URLs whose responses are cached, at a few kilobytes each. */
const MAX_CACHED = 1_000;

/**
 * Serves blobs and objects without Express, whose overhead is larger than sending a few kilobytes. The guards are the
 * same. All other requests, and every refusal, are passed to `next`, which refuses for the same reason.
 */
export function blobFastPath(config: BlobFastPathConfig, next: RequestListener): RequestListener {
  const { store, guards, log } = config;
  const responseFor = commitScopedCache(store, MAX_CACHED, (url) => findStored(store, url));
  return (request, response) => {
    const { url = '', method } = request;
    if ((method !== 'GET' && method !== 'HEAD') || !STORED_BYTES.test(url)) return next(request, response);
    const fail = (error: unknown) => {
      if (response.headersSent) abortResponse(log, error, request, response);
      else next(request, response);
    };
    try {
      guards.admit(request, url);
      guards.allow(request, 'read');
      const ready = responseFor(url)(request, guards.headersFor(request, url));
      sendStoredBlob(store, request, response, ready).catch(fail);
    } catch (error) {
      fail(error);
    }
  };
}

/** Returns the prepared response to a request, with the additional headers of the guards. */
type PrepareFor = (request: IncomingMessage, guardHeaders: Readonly<Record<string, string>>) => PreparedBlob;

/** @throws Problem if there is no such blob, or if it is recorded as damaged: the ordinary route checks whether it still is */
function findStored(store: Store, url: string): PrepareFor {
  const [, place, sha256 = ''] = STORED_BYTES.exec(url) ?? [];
  const storedFor = place === 'archive' ? storedObject(store, sha256) : storedBlob(store, sha256);
  if (isDamaged(store.read, sha256)) throw damagedBlobProblem();
  return cachePrepared(storedFor);
}

/**
 * Prepares each distinct response once. There are few: `guardHeaders` is one of three constant objects, and an object is
 * sent in at most two ways.
 */
function cachePrepared(storedFor: (request: IncomingMessage) => BlobResponse): PrepareFor {
  const cached: { stored: BlobResponse; guardHeaders: object; ready: PreparedBlob }[] = [];
  return (request, guardHeaders) => {
    const stored = storedFor(request);
    const known = cached.find((each) => each.stored === stored && each.guardHeaders === guardHeaders);
    if (known) return known.ready;
    const { blob, options } = stored;
    const headers = { ...guardHeaders, ...options.headers };
    const ready = prepareBlob({ blob, options: { ...options, headers } });
    cached.push({ stored, guardHeaders, ready });
    return ready;
  };
}
