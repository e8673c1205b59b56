import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Request, Response } from 'express';
import { Problem } from '../../../shared/problems.ts';
import { ChangedFileError } from '../../zip/writeZip.ts';
import { isPrematureClose } from './exports.ts';
import {
  type ByteRange,
  ifRangeMatches,
  isFresh,
  type RangeBody,
  rangeBody,
  rangesOf,
  requirePreconditions,
  sizeOf,
  unsatisfiable,
} from './ranges.ts';

/** Bytes that are made or joined while they are sent, such as a ZIP. Their number is known. */
export interface SentBytes {
  /** A strong entity tag, with its quotes. */
  etag: string;
  type: string;
  bytes: number;
  headers: Record<string, string>;
  /** Checks what is needed for these ranges, before anything is sent. */
  prepare: (ranges: readonly ByteRange[]) => Promise<void>;
  read: (range: ByteRange) => AsyncIterable<Uint8Array>;
}

/**
 * Sends all bytes, one or more ranges (RFC 9110, section 14), or 304.
 *
 * @throws Problem `precondition_failed`, `range_not_satisfiable`; the errors of `prepare`; `blob_damaged` before anything
 * is sent. Damage found later closes the connection.
 */
export async function sendRanges(request: Request, response: Response, sent: SentBytes): Promise<void> {
  const validators = { etag: sent.etag, lastModified: undefined };
  requirePreconditions(request, validators);
  const headers = { ETag: sent.etag, 'Accept-Ranges': 'bytes', ...sent.headers };
  if (isFresh(request, validators)) return void response.status(304).set(headers).end();
  const ranges = ifRangeMatches(request, validators) ? rangesOf(request, sent.bytes) : undefined;
  if (ranges === 'unsatisfiable') throw unsatisfiable(sent.bytes);
  const boundary = sent.etag.replaceAll(/[^\w-]/g, '').slice(0, 70);
  const body = rangeBody({ bytes: sent.bytes, type: sent.type, sha256: boundary }, ranges);
  const length = body.parts.reduce((sum, part) => sum + part.before.length + sizeOf(part), body.after.length);
  const all = { ...headers, ...body.headers, 'Content-Length': String(length) };
  if (request.method === 'HEAD') return void response.status(body.status).set(all).end();
  await sent.prepare(body.parts);
  await sendBody(response, { body, headers: all, read: sent.read });
}

async function* chunksOf(
  { parts, after }: RangeBody,
  read: SentBytes['read'],
): AsyncGenerator<Uint8Array, void> {
  for (const { before, ...range } of parts) {
    if (before) yield Buffer.from(before, 'latin1');
    yield* read(range);
  }
  if (after) yield Buffer.from(after, 'latin1');
}

interface Answer {
  body: RangeBody;
  headers: Record<string, string>;
  read: SentBytes['read'];
}

/** Sends a body whose bytes are read while they are sent. @throws Problem `blob_damaged` before anything is sent */
export async function sendBody(response: Response, { body, headers, read }: Answer): Promise<void> {
  const chunks = chunksOf(body, read);
  // An error before the first chunk becomes a problem response.
  const first = await chunks.next().catch((error: unknown) => {
    if (!(error instanceof ChangedFileError)) throw error;
    throw new Problem('blob_damaged', 'A file of this pack is damaged. Verify the pack for details.', {
      cause: error,
    });
  });
  response.status(body.status).set(headers);
  const all = async function* () {
    if (first.value) yield first.value;
    yield* chunks;
  };
  try {
    await pipeline(Readable.from(all(), { objectMode: false }), response);
  } catch (error) {
    if (!isPrematureClose(error)) throw error;
  } finally {
    await chunks.return(undefined);
  }
}
