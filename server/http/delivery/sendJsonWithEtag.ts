import { createHash } from 'node:crypto';
import type { Request } from 'express';
import type { Reply } from '../reply.ts';
import { isFresh, requirePreconditions, type Validators } from './conditions.ts';

/**
 * Returns JSON with an entity tag, for content that seldom changes. A client whose cached copy is current gets 304.
 *
 * @throws Problem `precondition_failed`.
 */
export function sendJsonWithEtag(request: Request, json: unknown): Reply {
  const text = JSON.stringify(json);
  const etag = `"${createHash('sha256').update(text).digest('base64url')}"`;
  const validators: Validators = { etag, lastModified: undefined };
  requirePreconditions(request, validators);
  return {
    write: (response) => {
      response.set({ ETag: etag, 'Cache-Control': 'no-cache' }).vary('Accept-Encoding');
      if (isFresh(request, validators)) response.status(304).end();
      else response.type('application/json').send(text);
    },
  };
}
