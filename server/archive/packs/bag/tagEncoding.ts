/** Decodes a tag file chunk by chunk. Without a chunk it returns the rest. @throws TypeError for invalid bytes */
export type Decode = (chunk?: Uint8Array) => string;

/** The supported values of Tag-File-Character-Encoding, in upper case. */
const DECODERS: Readonly<Record<string, () => Decode>> = {
  'UTF-8': () => unicodeDecoder('utf-8'),
  'UTF-16': utf16Decoder,
  'UTF-16BE': () => unicodeDecoder('utf-16be'),
  'UTF-16LE': () => unicodeDecoder('utf-16le'),
  'ISO-8859-1': () => decodeLatin1,
  'US-ASCII': () => decodeLatin1,
  ASCII: () => decodeLatin1,
};

/** Returns a decoder for an encoding that `bagit.txt` declares, or undefined if the encoding is not supported. */
export function tagDecoder(encoding: string): Decode | undefined {
  const name = encoding.toUpperCase();
  return Object.hasOwn(DECODERS, name) ? DECODERS[name]?.() : undefined;
}

/** Keeps a byte order mark, because BagIt does not allow one in UTF-8. */
function unicodeDecoder(encoding: 'utf-8' | 'utf-16be' | 'utf-16le'): Decode {
  const decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: true });
  return (chunk) => decoder.decode(chunk, { stream: chunk !== undefined });
}

/** `TextDecoder` is not used here: its `iso-8859-1` is Windows-1252. */
function decodeLatin1(chunk?: Uint8Array): string {
  return Buffer.from(chunk ?? []).toString('latin1');
}

/**
 * Decodes UTF-16 with or without a byte order mark. Without a mark, the order follows from the first character: each tag
 * file begins with an ASCII character, one of whose two bytes is zero.
 */
function utf16Decoder(): Decode {
  let decode: Decode | undefined;
  let start = Buffer.alloc(0);
  return (chunk) => {
    if (decode) return decode(chunk);
    start = Buffer.concat([start, chunk ?? Buffer.alloc(0)]);
    if (start.length < 2) {
      if (chunk !== undefined || start.length === 0) return '';
      throw new TypeError('Half a character');
    }
    const isMarked = start.readUInt16BE() === 0xfeff || start.readUInt16LE() === 0xfeff;
    const isLittleEndian = isMarked ? start[0] === 0xff : start[1] === 0;
    decode = unicodeDecoder(isLittleEndian ? 'utf-16le' : 'utf-16be');
    return decode(isMarked ? start.subarray(2) : start);
  };
}
