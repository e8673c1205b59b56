import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { isDamaged } from '../fixity/damages.ts';
import { knownDamaged } from '../fixity/requireSound.ts';
import type { Log } from '../log.ts';
import type { Store } from '../store/store.ts';
import type { Guards } from './guards.ts';
import { cutAnswer } from './problems.ts';
import { storedBlob } from './routes/blobs.ts';
import { storedObject } from './routes/objects.ts';
import { type StoredBytes, sendBlob } from './sendBlob.ts';

export interface StoredBytesConfig {
  store: Store;
  guards: Guards;
  log: Log;
}

const BLOB = /^\/api\/blobs\/([0-9a-f]{64})$/;
const OBJECT = /^\/archive\/([0-9a-f]{64})$/;

/**
 * Sends the bytes of blobs and objects without Express, which costs more than sending some kilobytes does. The guards
 * are the same. Whatever is not just sent goes the ordinary way: other addresses and methods, and every refusal, which
 * comes to the same refusal there.
 */
export function storedBytesFirst(config: StoredBytesConfig, otherwise: RequestListener): RequestListener {
  return (request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return otherwise(request, response);
    const find = finderOf(config.store, request);
    if (find === undefined) return otherwise(request, response);
    sendFound(config, find, request, response).catch((error: unknown) => {
      if (response.headersSent) cutAnswer(config.log, error, request, response);
      else otherwise(request, response);
    });
  };
}

function finderOf(store: Store, request: IncomingMessage): (() => StoredBytes) | undefined {
  const { url = '' } = request;
  const blob = BLOB.exec(url)?.[1];
  if (blob !== undefined) return () => storedBlob(store, blob);
  const object = OBJECT.exec(url)?.[1];
  return object === undefined ? undefined : () => storedObject(store, object, request);
}

/** @throws Problem of the guards, of what is looked for, and of sending it */
async function sendFound(
  { store, guards }: StoredBytesConfig,
  find: () => StoredBytes,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { url = '' } = request;
  guards.admit(request, url);
  guards.allow(request, 'read');
  const { blob, options } = find();
  // Whether they are right by now is looked at there.
  if (isDamaged(store.read, blob.sha256)) throw knownDamaged();
  const headers = { ...guards.headersFor(request, url), ...options.headers };
  await sendBlob(request, response, blob, { ...options, headers });
}
