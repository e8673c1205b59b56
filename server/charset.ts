/** A text that was decoded, and the encoding that it is in. */
export interface DecodedText {
  text: string;
  encoding: string;
}

/** How much shows whether a text is in UTF-16 without a byte order mark. */
const SEEN_BYTES = 512;

/**
 * Decodes the bytes of a text file without guessing: by its byte order mark, as UTF-16 if every second byte of its beginning
 * is null, as UTF-8, or in the encoding that it declares. Returns undefined if none of these fits.
 */
export function decodeTextFile(bytes: Uint8Array, declared?: string): DecodedText | undefined {
  const marked = markedEncoding(bytes) ?? utf16Without(bytes);
  if (marked !== undefined) return decodeIn(bytes, marked);
  return decodeIn(bytes, 'utf-8') ?? (declared === undefined ? undefined : decodeIn(bytes, declared));
}

/** Returns the encoding that the byte order mark of a text says. */
export function markedEncoding([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  return first === 0xef && second === 0xbb && third === 0xbf ? 'utf-8' : undefined;
}

function utf16Without(bytes: Uint8Array): string | undefined {
  const seen = bytes.subarray(0, Math.min(SEEN_BYTES, bytes.length - (bytes.length % 2)));
  const nulls = { even: 0, odd: 0 };
  for (const [index, byte] of seen.entries()) if (byte === 0) nulls[index % 2 === 0 ? 'even' : 'odd'] += 1;
  const most = seen.length / 4;
  if (nulls.odd > most && nulls.even === 0) return 'utf-16le';
  return nulls.even > most && nulls.odd === 0 ? 'utf-16be' : undefined;
}

/** Undefined if the encoding is not known, or if the bytes are not in it. */
function decodeIn(bytes: Uint8Array, label: string): DecodedText | undefined {
  try {
    const decoder = new TextDecoder(label, { fatal: true });
    return { text: decoder.decode(bytes), encoding: decoder.encoding };
  } catch (error) {
    if (error instanceof RangeError || error instanceof TypeError) return undefined;
    throw error;
  }
}
