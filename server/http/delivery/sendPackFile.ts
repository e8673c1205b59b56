import type { Request, Response } from 'express';
import type { PackFiles } from '../../archive/packs/file/writePackFile.ts';
import {
  ifRangeMatches,
  isFresh,
  rangeBody,
  rangesOf,
  requirePreconditions,
  sizeOf,
  unsatisfiable,
  type Validators,
} from './ranges.ts';
import { sendBody } from './sendRanges.ts';

/** Increased by each release that writes different bytes for the same record (decision 7). */
const FORMAT_VERSION = 2;
const TYPE = 'application/zip';

/**
 * Sends a pack file, or ranges of it, while it is written. The bytes are determined by the record, and so is the entity
 * tag. Every file with bytes in the response is checked before the first byte is sent. HEAD and the bytes between the
 * files read no file once the CRCs are known: they depend on the record only.
 *
 * @throws Problem `precondition_failed`, `range_not_satisfiable`; `blob_damaged` before anything is sent. Damage found
 * later closes the connection.
 */
export async function sendPackFile(
  request: Request,
  response: Response,
  {
    pack: { id, digest },
    headers: further,
  }: { pack: { id: string; digest: string }; headers: Readonly<Record<string, string>> },
  packFiles: PackFiles,
): Promise<void> {
  const validators: Validators = { etag: `"pack-${FORMAT_VERSION}-${digest}"`, lastModified: undefined };
  requirePreconditions(request, validators);
  const caching = {
    ETag: validators.etag,
    'Cache-Control': 'no-cache',
    'Accept-Ranges': 'bytes',
    ...further,
  };
  if (isFresh(request, validators)) return void response.status(304).set(caching).end();
  const output = packFiles.of(id, digest);
  const ranges = ifRangeMatches(request, validators) ? rangesOf(request, output.bytes) : undefined;
  if (ranges === 'unsatisfiable') throw unsatisfiable(output.bytes);
  const summary = await packFiles.summaryOf(output);
  const body = rangeBody({ bytes: output.bytes, type: TYPE, sha256: summary.sha256 }, ranges);
  const length = body.parts.reduce((sum, part) => sum + part.before.length + sizeOf(part), body.after.length);
  const headers = {
    ...caching,
    ...body.headers,
    'Content-Length': String(length),
    'Repr-Digest': `sha-256=:${Buffer.from(summary.sha256, 'hex').toString('base64')}:`,
    'Content-Disposition': `attachment; filename="${id}.pack.zip"`,
  };
  if (request.method === 'HEAD') return void response.set(headers).end();
  const zip = packFiles.zipOf(output, summary);
  await zip.check(body.parts);
  await sendBody(response, { body, headers, read: (range) => zip.read(range) });
}
