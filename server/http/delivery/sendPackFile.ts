import { pipeline } from 'node:stream/promises';
import type { Request, Response } from 'express';
import type { PackFileOutput } from '../../archive/packs/file/writePackFile.ts';
import { isFresh, requirePreconditions, type Validators } from './conditions.ts';

/** Goes up whenever a release writes other bytes for the same record. */
const WRITTEN_AS = 2;

/**
 * Answers with a pack file as it is made. The bytes follow from the record, so the entity tag does too.
 *
 * @throws Problem `precondition_failed`; `blob_damaged` before anything is sent. Damage that comes to pass while bytes
 * are under way cuts the connection.
 */
export async function sendPackFile(
  request: Request,
  response: Response,
  output: PackFileOutput,
): Promise<void> {
  const validators: Validators = { etag: `"pack-${WRITTEN_AS}-${output.digest}"`, lastModified: undefined };
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
    // A reader that goes away in the middle is no fault of ours.
    if (error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE') return;
    throw error;
  }
}
