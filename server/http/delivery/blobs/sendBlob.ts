import type { IncomingMessage, ServerResponse } from 'node:http';
import { ifRangeMatches, isFresh, requirePreconditions } from '../conditions.ts';
import { rangeBody, unsatisfiable } from '../rangeBody.ts';
import { rangesOf } from '../ranges.ts';
import { type ReadElsewhere, sendParts, sizeOf } from '../sendParts.ts';
import type { PreparedBlob } from './prepareBlob.ts';

/**
 * Sends a blob: all bytes, one or more ranges (RFC 9110, section 14), or 304. The bytes never change, so the entity tag
 * is their digest and caches may keep them forever. Works without Express.
 *
 * @param read reads the bytes if the blob has left this disk
 * @throws Problem `range_not_satisfiable`, `precondition_failed`; `blob_damaged` if the file is missing or has the wrong
 * size. Usually nothing has been sent then; otherwise the caller must close the connection.
 */
export async function sendBlob(
  request: IncomingMessage,
  response: ServerResponse,
  ready: PreparedBlob,
  read?: ReadElsewhere,
): Promise<void> {
  const { blob, type, validators, headers } = ready;
  requirePreconditions(request, validators);
  if (isFresh(request, validators)) return void response.writeHead(304, headers).end();
  const ranges = ifRangeMatches(request, validators) ? rangesOf(request, blob.bytes) : undefined;
  if (ranges === 'unsatisfiable') throw unsatisfiable(blob.bytes);
  const { status, parts, after, headers: more } = rangeBody({ ...blob, type }, ranges);
  const length = parts.reduce((sum, part) => sum + part.before.length + sizeOf(part), after.length);
  const isHead = request.method === 'HEAD';
  await sendParts(response, {
    status,
    headers: { ...headers, ...more, 'Content-Length': String(length) },
    file: blob.file,
    bytes: blob.bytes,
    parts: isHead ? [] : parts,
    after: isHead ? '' : after,
    read,
  });
}
