import { getEncoding } from 'encoding-sniffer';

/** How much of a document is searched for its own declaration (HTML: 1,024 bytes; some need more). */
const SNIFFED_BYTES = 4_096;
/** How much of a document is tried as UTF-8. */
const TRIED_BYTES = 262_144;

/**
 * Returns the name of a text's encoding as `TextDecoder` knows it (HTML Standard, section 13.2.3.2): the byte order mark
 * first, then the charset of the media type, then what the document declares, then UTF-8; windows-1252 where the bytes
 * are not UTF-8.
 */
export function detectCharset(bytes: Uint8Array, contentType: string | null): string {
  const label = /charset\s*=\s*["']?([^\s"';]+)/i.exec(contentType ?? '')?.[1];
  const fallback = isUtf8(bytes) ? 'utf-8' : 'windows-1252';
  const sniffed = getEncoding(bytes, {
    maxBytes: SNIFFED_BYTES,
    defaultEncoding: fallback,
    ...(label === undefined ? {} : { transportLayerEncodingLabel: label }),
  });
  return decodable(sniffed) ?? fallback;
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
