import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync, zstdDecompressSync } from 'node:zlib';
import { detectCharset } from './charset.ts';
import { NotDerivableError } from './notDerivable.ts';

/** A body is encoded once, seldom twice; whoever says more means no good. */
const MOST_ENCODINGS = 3;

/**
 * The bytes behind a body's `Content-Encoding` (RFC 9110 section 8.4), in memory and for derivation alone: what is
 * stored stays as it came. A body that does not look encoded as it claims is taken as it is; servers do that.
 *
 * @param maxBytes what the decoded bytes may come to; a bomb stops there.
 * @throws NotDerivableError `too_large`, `damaged`, `unsupported`.
 */
export function decodeBody(bytes: Uint8Array, contentEncoding: string | null, maxBytes: number): Uint8Array {
  const codings = (contentEncoding ?? '')
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity');
  if (codings.length > MOST_ENCODINGS)
    throw new NotDerivableError('unsupported', `The object says that it is encoded ${codings.length} times.`);
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
        // Meant is zlib's format (RFC 1950); some send the bare stream (RFC 1951).
        return isZlib(bytes) ? inflateSync(bytes, limit) : inflateRawSync(bytes, limit);
      case 'br':
        return brotliDecompressSync(bytes, limit);
      case 'zstd':
        return startsWith(bytes, 0x28, 0xb5, 0x2f, 0xfd) ? zstdDecompressSync(bytes, limit) : bytes;
      default:
        throw new NotDerivableError(
          'unsupported',
          `The object is encoded as “${coding}”, which is not read.`,
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
  return new NotDerivableError('too_large', `Decoded, the object is larger than ${maxBytes} bytes.`);
}

/** Some archives hand a page out decoded under the headers that it had when it was encoded. */
function looksLikeText(bytes: Uint8Array): boolean {
  return bytes.subarray(0, 512).every((byte) => byte >= 0x20 || (byte >= 0x09 && byte <= 0x0d));
}

function startsWith(bytes: Uint8Array, ...start: number[]): boolean {
  return start.every((byte, index) => bytes[index] === byte);
}

/** RFC 1950: method 8, and the two bytes of the head are a multiple of 31. */
function isZlib([first = 0, second = 0]: Uint8Array): boolean {
  return (first & 0x0f) === 8 && ((first << 8) | second) % 31 === 0;
}

/**
 * The text of decoded bytes, by their byte order mark, the charset of their type, what the document says of itself, or
 * UTF-8; what cannot be read becomes U+FFFD.
 */
export function decodeText(bytes: Uint8Array, contentType: string | null): string {
  return new TextDecoder(detectCharset(bytes, contentType)).decode(bytes);
}
