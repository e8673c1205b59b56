import type { IncomingMessage, RequestListener } from 'node:http';
import { isDamaged } from '../../fixity/damages.ts';
import { knownDamaged } from '../../fixity/requireSound.ts';
import type { Log } from '../../runtime/log.ts';
import { rememberUntilCommit } from '../../store/commitScopedCache.ts';
import type { Store } from '../../store/store.ts';
import { cutAnswer } from '../problems.ts';
import { storedBlob } from '../routes/blobs.ts';
import { storedObject } from '../routes/objects.ts';
import type { Guards } from '../security/guards.ts';
import { type ReadyBlob, readyBlob, type StoredBytes } from './readyBlob.ts';
import { sendStored } from './sendStored.ts';
import { isWholeAndSmall, sendWhole } from './sendWhole.ts';

export interface StoredBytesConfig {
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
export function storedBytesFirst(config: StoredBytesConfig, otherwise: RequestListener): RequestListener {
  const { store, guards, log } = config;
  const readyAt = rememberUntilCommit(store, MOST_READY, (url) => findStored(store, url));
  return (request, response) => {
    const { url = '', method } = request;
    if ((method !== 'GET' && method !== 'HEAD') || !STORED_BYTES.test(url))
      return otherwise(request, response);
    const fail = (error: unknown) => {
      if (response.headersSent) cutAnswer(log, error, request, response);
      else otherwise(request, response);
    };
    try {
      guards.admit(request, url);
      guards.allow(request, 'read');
      const ready = readyAt(url)(request, guards.headersFor(request, url));
      if (isWholeAndSmall(request, ready)) sendWhole(response, ready);
      else sendStored(store, request, response, ready).catch(fail);
    } catch (error) {
      fail(error);
    }
  };
}

/** Stored bytes as they are sent to whoever asks, with headers that the answer has besides. */
type Ready = (request: IncomingMessage, besides: Readonly<Record<string, string>>) => ReadyBlob;

/** @throws Problem where there is nothing, and where it is known to be damaged: whether it still is, is looked at there */
function findStored(store: Store, url: string): Ready {
  const [, place, sha256 = ''] = STORED_BYTES.exec(url) ?? [];
  const storedFor = place === 'archive' ? storedObject(store, sha256) : storedBlob(store, sha256);
  if (isDamaged(store.read, sha256)) throw knownDamaged();
  return readyOnce(storedFor);
}

/** There are a few sets of headers, the same objects each time, and two ways at most to send an object. */
function readyOnce(storedFor: (request: IncomingMessage) => StoredBytes): Ready {
  const made: { stored: StoredBytes; besides: object; ready: ReadyBlob }[] = [];
  return (request, besides) => {
    const stored = storedFor(request);
    const known = made.find((each) => each.stored === stored && each.besides === besides);
    if (known) return known.ready;
    const { blob, options } = stored;
    const ready = readyBlob({ blob, options: { ...options, headers: { ...besides, ...options.headers } } });
    made.push({ stored, besides, ready });
    return ready;
  };
}
