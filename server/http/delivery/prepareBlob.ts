import { validateHeaderValue } from 'node:http';
import type { BlobFile } from './blobFile.ts';
import type { Validators } from './conditions.ts';

/** Stored bytes that are sent: where they lie, their digest and how many they must be. */
export interface SentBlob extends BlobFile {
  sha256: string;
  /** When the bytes were stored (RFC 3339), sent as Last-Modified. */
  storedAt?: string;
}

export interface SentBlobOptions {
  contentType: string;
  /** The whole value of Content-Disposition. */
  disposition?: string;
  /** Sent besides, and instead of headers of the same name. */
  headers?: Record<string, string>;
}

/** Stored bytes, and how they are to be sent. */
export interface StoredBytes {
  blob: SentBlob;
  options: SentBlobOptions;
}

/** Stored bytes that are ready to be sent: what their answers have in common is composed, once for many of them. */
export interface PreparedBlob {
  blob: SentBlob;
  validators: Validators;
  /** The media type of the bytes, as a header can say it. */
  type: string;
  /** The headers of every answer, whichever part of the bytes it has. */
  headers: Record<string, string>;
}

export function prepareBlob({ blob, options }: StoredBytes): PreparedBlob {
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

/** The instant in whole seconds, which is all that an HTTP date can say. */
function lastModifiedOf({ storedAt }: SentBlob): number | undefined {
  return storedAt === undefined ? undefined : Math.floor(Date.parse(storedAt) / 1000) * 1000;
}

/** A type that was recorded from elsewhere may hold what no header can; the bytes are then just bytes. */
function sendableType(contentType: string): string {
  try {
    validateHeaderValue('Content-Type', contentType);
    return contentType === '' ? 'application/octet-stream' : contentType;
  } catch {
    return 'application/octet-stream';
  }
}
