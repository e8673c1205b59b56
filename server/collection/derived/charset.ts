/** What a document says of itself stands in its first bytes (HTML: 1,024; some need more). */
const LOOKED_AT = 4096;

/**
 * The name of a text's encoding, as `TextDecoder` knows it: the byte order mark before all else, then the charset of
 * the type, then `<meta charset>`, `<?xml encoding?>` or CSS's `@charset`, then UTF-8; where the bytes are no UTF-8,
 * windows-1252, as browsers do.
 */
export function detectCharset(bytes: Uint8Array, contentType: string | null): string {
  const marked = byMark(bytes);
  if (marked) return marked;
  const said = known(/charset\s*=\s*["']?([^\s"';]+)/i.exec(contentType ?? '')?.[1]);
  if (said) return said;
  const inside = known(declared(bytes));
  if (inside) return inside;
  return isUtf8(bytes) ? 'utf-8' : 'windows-1252';
}

function byMark([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return undefined;
}

function declared(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, LOOKED_AT)).toString('latin1');
  const found =
    /<meta\s[^>]{0,500}?charset\s*=\s*["']?([\w:.-]+)/i.exec(head) ??
    /^\s*<\?xml\s[^>]{0,200}?encoding\s*=\s*["']([\w:.-]+)/i.exec(head) ??
    /^@charset "([\w:.-]+)";/.exec(head);
  // Whoever could be read so far is not UTF-16, whatever it says (HTML Standard, prescan).
  return /^utf-16/i.test(found?.[1] ?? '') ? 'utf-8' : found?.[1];
}

function known(label: string | undefined): string | undefined {
  if (label === undefined) return undefined;
  try {
    return new TextDecoder(label).encoding;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    // The last character may be cut.
    new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, 262_144), { stream: true });
    return true;
  } catch (error) {
    if (error instanceof TypeError) return false;
    throw error;
  }
}
