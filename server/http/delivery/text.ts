import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants } from 'node:zlib';
import compression from 'compression';
import type { Request, RequestHandler, Response } from 'express';
import { guarded, type StillReadable } from '../../withholding/withholding.ts';
import type { Reply } from '../reply.ts';
import { ticketOf } from '../security/ticket.ts';
import { isPrematureClose } from './exports.ts';
import { isFresh, requirePreconditions, type Validators } from './ranges.ts';

/** Short pieces are combined into chunks of about this length. */
const CHUNK_CHARACTERS = 262_144;

/**
 * Sends text with its length. Long text that is generated in pieces is streamed with back-pressure instead.
 *
 * @param stillReadable asked before each chunk of a streamed text
 */
export async function sendText(
  response: Response,
  text: string | Iterable<string>,
  stillReadable: StillReadable = () => undefined,
): Promise<void> {
  if (typeof text === 'string') return void response.send(text);
  const chunks = chunked(text);
  const first = chunks.next();
  const second = first.done ? first : chunks.next();
  if (first.done || second.done) return void response.send(first.value ?? '');
  try {
    await pipeline(
      Readable.from(
        guarded(
          (function* () {
            yield first.value;
            yield second.value;
            yield* chunks;
          })(),
          stillReadable,
        ),
      ),
      response,
    );
  } catch (error) {
    if (!isPrematureClose(error)) throw error;
  }
}

function* chunked(pieces: Iterable<string>): Generator<string, undefined> {
  let chunk = '';
  for (const piece of pieces) {
    chunk += piece;
    if (chunk.length < CHUNK_CHARACTERS) continue;
    yield chunk;
    chunk = '';
  }
  if (chunk) yield chunk;
}

/**
 * Returns JSON with an entity tag, for content that seldom changes. A client whose cached copy is current gets 304.
 *
 * @param headers further headers; they replace those of the same name
 * @throws Problem `precondition_failed`.
 */
export function sendJsonWithEtag(
  request: Request,
  json: unknown,
  headers: Readonly<Record<string, string>> = {},
): Reply {
  const text = JSON.stringify(json);
  const etag = `"${createHash('sha256').update(text).digest('base64url')}"`;
  const validators: Validators = { etag, lastModified: undefined };
  requirePreconditions(request, validators);
  return {
    write: (response) => {
      response.set({ ETag: etag, 'Cache-Control': 'no-cache', ...headers }).vary('Accept-Encoding');
      if (isFresh(request, validators)) response.status(304).end();
      else response.type('application/json').send(text);
    },
  };
}

/** Smaller answers fit into one packet anyway. */
const MIN_BYTES = 1024;
const TEXT_TYPE =
  /^(?:text\/(?!event-stream)|application\/(?:[\w.+-]+\+)?(?:json|ndjson|xml|javascript|link-format|linkset)\b|image\/svg\+xml)/;
/** Addresses of recorded bytes, which are sent as they were recorded, and of tiles, which have their own coding. */
const RECORDED_BYTES = /^\/(?:archive|memento|log|api\/blobs)\//;
/** Built files are the same for everyone and contain no secret. */
const BUILT_FILES = /^\/assets\//;

/**
 * Compresses whole answers of text when the client accepts it, as `br` or `gzip`. Streamed answers, which have no length,
 * are sent as they are, so that back-pressure and the limits for stalled readers work on the connection itself.
 */
export function compressText(): RequestHandler {
  const compress = compression({
    threshold: MIN_BYTES,
    filter: isCompressible,
    level: 4,
    brotli: {
      params: { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_LGWIN]: 18 },
    },
  });
  return (request, response, next) => {
    if (RECORDED_BYTES.test(request.path)) {
      next();
      return;
    }
    if (acceptsCoding(request)) {
      compress(request, response, next);
      return;
    }
    // A cache must not give this answer to clients that accept a coding.
    response.vary('Accept-Encoding');
    next();
  };
}

/** Called when the head is about to be sent. If it returns true, the answer has `Vary: Accept-Encoding`. */
function isCompressible(request: Request, response: Response): boolean {
  if (response.statusCode === 304) {
    keepHeldTag(request, response);
    return false;
  }
  const type = String(response.getHeader('Content-Type') ?? '');
  const isText = TEXT_TYPE.test(type) && Number(response.getHeader('Content-Length')) >= MIN_BYTES;
  const isExact = response.statusCode === 206 || response.hasHeader('Repr-Digest');
  if (!isText || isExact || mayHoldSecret(request, response)) return false;
  // The two codings of one representation must not share a strong entity tag (RFC 9110, section 8.8.3).
  const etag = response.getHeader('ETag');
  if (typeof etag === 'string' && etag.startsWith('"')) response.setHeader('ETag', `W/${etag}`);
  if (request.method === 'HEAD') response.removeHeader('Content-Length');
  return true;
}

/** Adds to a 304 the `ETag` of the compressed response and the `Vary` header, as in the 200. */
function keepHeldTag({ headers }: Request, response: Response): void {
  response.vary('Accept-Encoding');
  const etag = response.getHeader('ETag');
  const weak = `W/${String(etag)}`;
  if (headers['if-none-match']?.split(',').some((tag) => tag.trim() === weak))
    response.setHeader('ETag', weak);
}

/**
 * Returns whether an answer may hold a secret. The length of a compressed answer would reveal a secret next to text that
 * an attacker chooses (BREACH), so nothing is compressed for signed-in clients.
 */
function mayHoldSecret(
  request: IncomingMessage & { originalUrl?: string },
  response: ServerResponse,
): boolean {
  const { headers, url = '', originalUrl } = request;
  if (BUILT_FILES.test(originalUrl ?? url)) return false;
  const { cookie, authorization } = headers;
  const isSignedIn = cookie !== undefined || authorization !== undefined || ticketOf(request) !== undefined;
  return isSignedIn || response.hasHeader('Set-Cookie') || /^\/(?:manage|sign-in)(?:\/|\?|$)/.test(url);
}

function acceptsCoding({ headers }: IncomingMessage): boolean {
  return /\b(?:br|gzip|\*)/.test(String(headers['accept-encoding'] ?? ''));
}
