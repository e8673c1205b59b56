/** Bytes searched for an encoding declaration. HTML requires it in the first 1,024; some pages have it later. */
const PRESCAN_BYTES = 4096;

/**
 * Detects the encoding of a text and returns its `TextDecoder` name: by the byte order mark, else the charset of the
 * content type, else `<meta charset>`, `<?xml encoding?>` or CSS `@charset`, else UTF-8. Bytes that are not valid UTF-8
 * are taken as windows-1252, as browsers do.
 */
export function detectCharset(bytes: Uint8Array, contentType: string | null): string {
  const byMark = fromByteOrderMark(bytes);
  if (byMark) return byMark;
  const byType = canonicalName(/charset\s*=\s*["']?([^\s"';]+)/i.exec(contentType ?? '')?.[1]);
  if (byType) return byType;
  const byDeclaration = canonicalName(declaredCharset(bytes));
  if (byDeclaration) return byDeclaration;
  return isUtf8(bytes) ? 'utf-8' : 'windows-1252';
}

function fromByteOrderMark([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return undefined;
}

function declaredCharset(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, PRESCAN_BYTES)).toString('latin1');
  const found =
    /<meta\s[^>]{0,500}?charset\s*=\s*["']?([\w:.-]+)/i.exec(head) ??
    /^\s*<\?xml\s[^>]{0,200}?encoding\s*=\s*["']([\w:.-]+)/i.exec(head) ??
    /^@charset "([\w:.-]+)";/.exec(head);
  // A declaration that is readable as latin1 is not in UTF-16, whatever it declares (HTML Standard, prescan).
  return /^utf-16/i.test(found?.[1] ?? '') ? 'utf-8' : found?.[1];
}

function canonicalName(label: string | undefined): string | undefined {
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
    // `stream` allows an incomplete character at the end.
    new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, 262_144), { stream: true });
    return true;
  } catch (error) {
    if (error instanceof TypeError) return false;
    throw error;
  }
}
