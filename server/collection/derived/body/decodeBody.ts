import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync, zstdDecompressSync } from 'node:zlib';
import { NotDerivableError } from '../notDerivable.ts';
import { detectCharset } from './charset.ts';

/** Bodies are encoded once, rarely twice; more is an attack. */
const MAX_ENCODINGS = 3;

/**
 * Decodes the `Content-Encoding` of a body (RFC 9110 section 8.4) in memory. Used for derivation only: the stored bytes
 * stay encoded. A body that does not look encoded as claimed is returned unchanged, because some servers send such.
 *
 * @param maxBytes limit on the decoded bytes, against decompression bombs.
 * @throws NotDerivableError `too_large`, `damaged`, `unsupported`.
 */
export function decodeBody(bytes: Uint8Array, contentEncoding: string | null, maxBytes: number): Uint8Array {
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
