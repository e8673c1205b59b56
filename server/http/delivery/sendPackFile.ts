import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Request, Response } from 'express';
import type { PackFileSummaries } from '../../archive/packs/file/packFileSummaries.ts';
import type { PackFileOutput } from '../../archive/packs/file/writePackFile.ts';
import type { StoredZip } from '../../archive/packs/zip/storedZip.ts';
import { ifRangeMatches, isFresh, requirePreconditions, type Validators } from './conditions.ts';
import { type RangeBody, rangeBody, unsatisfiable } from './rangeBody.ts';
import { rangesOf } from './ranges.ts';
import { sizeOf } from './sendParts.ts';

/** Increased by each release that writes different bytes for the same record (decision 7). */
const FORMAT_VERSION = 2;
const TYPE = 'application/zip';

/**
 * Sends a pack file, or ranges of it, while it is written. The bytes are determined by the record, and so is the entity
 * tag. All files are checked before the first byte is sent.
 *
 * @throws Problem `precondition_failed`, `range_not_satisfiable`; `blob_damaged` before anything is sent. Damage found
 * later closes the connection.
 */
export async function sendPackFile(
  request: Request,
  response: Response,
  output: PackFileOutput,
  summaries: PackFileSummaries,
): Promise<void> {
  const validators: Validators = {
    etag: `"pack-${FORMAT_VERSION}-${output.digest}"`,
    lastModified: undefined,
  };
  requirePreconditions(request, validators);
  const caching = { ETag: validators.etag, 'Cache-Control': 'no-cache', 'Accept-Ranges': 'bytes' };
  if (isFresh(request, validators)) return void response.status(304).set(caching).end();
  const ranges = ifRangeMatches(request, validators) ? rangesOf(request, output.bytes) : undefined;
  if (ranges === 'unsatisfiable') throw unsatisfiable(output.bytes);
  const summary = await summaries.of(output);
  const body = rangeBody({ bytes: output.bytes, type: TYPE, sha256: summary.sha256 }, ranges);
  const length = body.parts.reduce((sum, part) => sum + part.before.length + sizeOf(part), body.after.length);
  const headers = {
    ...caching,
    ...body.headers,
    'Content-Length': String(length),
    'Repr-Digest': `sha-256=:${Buffer.from(summary.sha256, 'hex').toString('base64')}:`,
    'Content-Disposition': `attachment; filename="${output.id}.pack.zip"`,
  };
  if (request.method === 'HEAD') return void response.set(headers).end();
  // Every file is checked before the first byte, so that no range has damaged bytes beside the digest of intact ones.
  const zip = output.zip(await output.check());
  await send(response, { body, headers, chunks: chunksOf(body, zip) });
}

async function* chunksOf({ parts, after }: RangeBody, zip: StoredZip): AsyncGenerator<Uint8Array> {
  for (const { before, ...range } of parts) {
    if (before) yield Buffer.from(before, 'latin1');
    yield* zip.read(range);
  }
  if (after) yield Buffer.from(after, 'latin1');
}

interface Answer {
  body: RangeBody;
  headers: Record<string, string>;
  chunks: AsyncGenerator<Uint8Array>;
}

async function send(response: Response, { body, headers, chunks }: Answer): Promise<void> {
  // An error before the first chunk becomes a problem response.
  const first = await chunks.next();
  response.status(body.status).set(headers);
  const all = async function* () {
    if (first.value) yield first.value;
    yield* chunks;
  };
  try {
    await pipeline(Readable.from(all(), { objectMode: false }), response);
  } catch (error) {
    // The reader disconnected.
    if (error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE') return;
    throw error;
  } finally {
    await chunks.return(undefined);
  }
}
