import { pipeline } from 'node:stream/promises';
import type { Request, Response } from 'express';
import type { PackFileOutput } from '../../archive/packs/file/writePackFile.ts';
import { isFresh, requirePreconditions, type Validators } from './conditions.ts';

/** Increased by each release that writes different bytes for the same record (decision 7). */
const FORMAT_VERSION = 2;

/**
 * Streams a pack file while it is written. The bytes are determined by the record, and so is the entity tag.
 *
 * @throws Problem `precondition_failed`; `blob_damaged` before anything is sent. Damage found later closes the
 * connection.
 */
export async function sendPackFile(
  request: Request,
  response: Response,
  output: PackFileOutput,
): Promise<void> {
  const validators: Validators = {
    etag: `"pack-${FORMAT_VERSION}-${output.digest}"`,
    lastModified: undefined,
  };
  requirePreconditions(request, validators);
  response.set({ ETag: validators.etag, 'Cache-Control': 'no-cache', 'Accept-Ranges': 'none' });
  if (isFresh(request, validators)) return void response.status(304).end();
  response.set({
    'Content-Type': 'application/zip',
    'Content-Length': String(output.bytes),
    'Content-Disposition': `attachment; filename="${output.id}.pack.zip"`,
  });
  if (request.method === 'HEAD') return void response.end();
  try {
    await pipeline(await output.open(), response);
  } catch (error) {
    // The reader disconnected.
    if (error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE') return;
    throw error;
  }
}
