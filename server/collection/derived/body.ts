import { createHash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { brotliDecompressSync, inflateRawSync, inflateSync, zstdDecompressSync } from 'node:zlib';
import { getEncoding } from 'encoding-sniffer';
import { charsetInHtml } from '../../../shared/values/htmlCharset.ts';
import { isMissing, isUnreadable } from '../../store/blobs/blobStore.ts';
import { gunzipSync } from '../fetch/gunzip.ts';
import { type MediaKind, mediaKind } from './mediaKind.ts';
import { NotDerivableError, type ObjectToRead } from './process/tasks.ts';

interface DecodedBody {
  /** The decoded bytes, or the first ones of them. */
  bytes: Uint8Array;
  kind: MediaKind;
  /** Whether `bytes` is only the beginning. */
  isCut: boolean;
}

const READ_SIZE = 1_048_576;

/**
 * Reads and decodes an object's bytes for derivation. The whole file is hashed, so that nothing is derived from altered
 * bytes. Blocks its process; runs in the derive process only.
 *
 * @param maxBytes limit on the stored and on the decoded bytes. Larger objects are cut. Larger encoded objects are
 * refused, because a cut one cannot be distinguished from a damaged one.
 * @throws NotDerivableError `object_missing`, `object_damaged`, and what `decodeBody` throws.
 */
export function readBody(object: ObjectToRead, maxBytes: number): DecodedBody {
  const { bytes: stored, isCut } = object.bytes
    ? { bytes: object.bytes, isCut: object.bytes.length > maxBytes }
    : readVerified(object, maxBytes);
  const isEncoded = !/^\s*(identity)?\s*$/i.test(object.contentEncoding ?? '');
  if (isCut && isEncoded)
    throw new NotDerivableError('too_large', `The encoded object is larger than ${maxBytes} bytes.`);
  const bytes = isEncoded ? decodeBody(stored, object.contentEncoding, maxBytes) : stored;
  return { bytes, kind: mediaKind(object.contentType, bytes.subarray(0, 1024)), isCut };
}

function readVerified(object: ObjectToRead, maxBytes: number): { bytes: Uint8Array; isCut: boolean } {
  try {
    return readHashed(object, maxBytes);
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    throw new NotDerivableError('object_damaged', 'The object’s stored bytes cannot be read.', error);
  }
}

function readHashed({ file, sha256 }: ObjectToRead, maxBytes: number): { bytes: Uint8Array; isCut: boolean } {
  const descriptor = openObject(file);
  try {
    const { size } = fstatSync(descriptor);
    const bytes = Buffer.allocUnsafe(Math.min(size, maxBytes));
    const rest = Buffer.allocUnsafe(size > bytes.length ? READ_SIZE : 0);
    const hash = createHash('sha256');
    for (let at = 0; at < size; ) {
      const into = at < bytes.length ? bytes.subarray(at, at + READ_SIZE) : rest;
      const read = readSync(descriptor, into, 0, into.length, at);
      if (read === 0) break;
      hash.update(into.subarray(0, read));
      at += read;
    }
    if (hash.digest('hex') !== sha256)
      throw new NotDerivableError('object_damaged', 'The object’s stored bytes no longer match its digest.');
    return { bytes, isCut: size > bytes.length };
  } finally {
    closeSync(descriptor);
  }
}

function openObject(file: string): number {
  try {
    return openSync(file, 'r');
  } catch (error) {
    if (isMissing(error)) throw new NotDerivableError('object_missing', 'The object’s bytes are missing.');
    throw error;
  }
}

/** Bodies are encoded once, rarely twice; more is an attack. */
const MAX_ENCODINGS = 3;

/**
 * Decodes the `Content-Encoding` of a body (RFC 9110 section 8.4) in memory. Used for derivation only: the stored bytes
 * stay encoded. A body that does not look encoded as claimed is returned unchanged, because some servers send such.
 *
 * @param maxBytes limit on the decoded bytes, against decompression bombs.
 * @throws NotDerivableError `too_large`, `damaged`, `unsupported`.
 */
function decodeBody(bytes: Uint8Array, contentEncoding: string | null, maxBytes: number): Uint8Array {
  const codings = (contentEncoding ?? '')
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity');
  if (codings.length > MAX_ENCODINGS)
    throw new NotDerivableError(
      'unsupported',
      `The object has ${codings.length} content encodings; at most ${MAX_ENCODINGS} are supported.`,
    );
  let decoded = bytes;
  for (const coding of codings.reverse()) decoded = decodeOnce(decoded, coding, maxBytes);
  if (decoded.length > maxBytes) throw tooLarge(maxBytes);
  return decoded;
}

function decodeOnce(bytes: Uint8Array, coding: string, maxOutputLength: number): Uint8Array {
  const limit = { maxOutputLength };
  try {
    switch (coding) {
      case 'gzip':
      case 'x-gzip':
        return startsWith(bytes, 0x1f, 0x8b) ? gunzipSync(bytes, limit) : bytes;
      case 'deflate':
        // The standard means zlib's format (RFC 1950); some servers send the bare stream (RFC 1951).
        return isZlib(bytes) ? inflateSync(bytes, limit) : inflateRawSync(bytes, limit);
      case 'br':
        return brotliDecompressSync(bytes, limit);
      case 'zstd':
        return startsWith(bytes, 0x28, 0xb5, 0x2f, 0xfd) ? zstdDecompressSync(bytes, limit) : bytes;
      default:
        throw new NotDerivableError(
          'unsupported',
          `The object has the content encoding “${coding}”, which is not supported.`,
        );
    }
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error)) throw error;
    if (error.code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(maxOutputLength);
    if (looksLikeText(bytes)) return bytes;
    throw new NotDerivableError('damaged', `The object cannot be decoded as “${coding}”.`, error);
  }
}

function tooLarge(maxBytes: number): NotDerivableError {
  return new NotDerivableError('too_large', `The decoded object is larger than ${maxBytes} bytes.`);
}

/** Some archives serve a decoded page with the headers of the encoded one. */
function looksLikeText(bytes: Uint8Array): boolean {
  return bytes.subarray(0, 512).every((byte) => byte >= 0x20 || (byte >= 0x09 && byte <= 0x0d));
}

function startsWith(bytes: Uint8Array, ...start: number[]): boolean {
  return start.every((byte, index) => bytes[index] === byte);
}

/** RFC 1950: method 8, and the two header bytes are a multiple of 31. */
function isZlib([first = 0, second = 0]: Uint8Array): boolean {
  return (first & 0x0f) === 8 && ((first << 8) | second) % 31 === 0;
}

/**
 * Decodes bytes into text in the encoding that `detectCharset` detects. Invalid sequences become U+FFFD.
 */
export function decodeText(bytes: Uint8Array, contentType: string | null): string {
  return new TextDecoder(detectCharset(bytes, contentType)).decode(bytes);
}

/** How much of a document that is no page is searched for its own declaration. */
const SNIFFED_BYTES = 4_096;
/** How much of a document is tried as UTF-8. */
const TRIED_BYTES = 262_144;

/**
 * Returns the name of a text's encoding as `TextDecoder` knows it (HTML Standard, section 13.2.3): the byte order mark
 * first, then the charset of the media type, then what the document declares, then UTF-8; windows-1252 where the bytes
 * are not UTF-8.
 */
function detectCharset(bytes: Uint8Array, contentType: string | null): string {
  const label = /charset\s*=\s*["']?([^\s"';]+)/i.exec(contentType ?? '')?.[1];
  const isPage = mediaKind(contentType, bytes.subarray(0, 1_024)) === 'html';
  const isStated = label !== undefined && decodable(label) !== undefined;
  const declared = isPage && !isStated ? charsetInHtml(bytes) : undefined;
  const fallback = declared ?? (isUtf8(bytes) ? 'utf-8' : 'windows-1252');
  const sniffed = getEncoding(isPage ? markOrXmlDeclaration(bytes, declared) : bytes, {
    maxBytes: SNIFFED_BYTES,
    defaultEncoding: fallback,
    ...(label === undefined ? {} : { transportLayerEncodingLabel: label }),
  });
  return decodable(sniffed) ?? fallback;
}

/** What is sniffed of a page: its byte order mark, and the declaration of XML where no element `meta` declares another. */
function markOrXmlDeclaration(bytes: Uint8Array, declared: string | undefined): Uint8Array {
  const beginning = Buffer.from(bytes.subarray(0, SNIFFED_BYTES)).toString('latin1');
  const declaration = declared === undefined ? /^<\?xml[^>]*>/.exec(beginning)?.[0] : undefined;
  return bytes.subarray(0, declaration?.length ?? 3);
}

/** The name that `TextDecoder` gives an encoding, unless it cannot decode it. */
function decodable(encoding: string): string | undefined {
  try {
    return new TextDecoder(encoding).encoding;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    // The last character may be cut.
    new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, TRIED_BYTES), { stream: true });
    return true;
  } catch (error) {
    if (error instanceof TypeError) return false;
    throw error;
  }
}
