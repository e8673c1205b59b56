import { validateHeaderValue } from '../../../runtime/nodeHttp.ts';
import type { Validators } from '../conditions.ts';
import type { BlobFile } from './blobFile.ts';

/** A stored blob to send: its file, its size and its digest. */
export interface SentBlob extends BlobFile {
  sha256: string;
  /** When the bytes were stored (RFC 3339), sent as Last-Modified. */
  storedAt?: string;
}

export interface SentBlobOptions {
  contentType: string;
  /** The value of Content-Disposition. */
  disposition?: string;
  /** Additional headers. They replace headers of the same name. */
  headers?: Record<string, string>;
}

/** A stored blob, and how to send it. */
export interface BlobResponse {
  blob: SentBlob;
  options: SentBlobOptions;
}

/** A blob whose response headers are prepared, to be reused for many responses. */
export interface PreparedBlob {
  blob: SentBlob;
  validators: Validators;
  /** The media type of the bytes, valid as a header value. */
  type: string;
  /** The headers of every response, for all bytes or a part of them. */
  headers: Record<string, string>;
}

export function prepareBlob({ blob, options }: BlobResponse): PreparedBlob {
  const { sha256 } = blob;
  const validators: Validators = { etag: `"${sha256}"`, lastModified: lastModifiedOf(blob) };
  const type = sendableType(options.contentType);
  const headers = { ...commonHeaders(sha256, validators, options.disposition), ...options.headers };
  return { blob, validators, type, headers };
}

function commonHeaders(
  sha256: string,
  { etag, lastModified }: Validators,
  disposition: string | undefined,
): Record<string, string> {
  return {
    ETag: etag,
    'Repr-Digest': `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`,
    'Cache-Control': 'public, max-age=31536000, immutable',
    'Accept-Ranges': 'bytes',
    'X-Content-Type-Options': 'nosniff',
    ...(lastModified === undefined ? undefined : { 'Last-Modified': new Date(lastModified).toUTCString() }),
    ...(disposition === undefined ? undefined : { 'Content-Disposition': disposition }),
  };
}

/** The instant rounded down to whole seconds, because HTTP dates have no fraction. */
function lastModifiedOf({ storedAt }: SentBlob): number | undefined {
  return storedAt === undefined ? undefined : Math.floor(Date.parse(storedAt) / 1000) * 1000;
}

/** Replaces a recorded type that is not valid in a header with `application/octet-stream`. */
function sendableType(contentType: string): string {
  try {
    validateHeaderValue('Content-Type', contentType);
    return contentType === '' ? 'application/octet-stream' : contentType;
  } catch {
    return 'application/octet-stream';
  }
}
