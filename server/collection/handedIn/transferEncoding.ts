/** The bytes of a part are not what its Content-Transfer-Encoding says. */
export class BrokenEncodingError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'BrokenEncodingError';
  }
}

/**
 * Decodes the content of a MIME part (RFC 2045, section 6) as it arrives. Decoded bytes are never more than the encoded ones.
 *
 * @throws BrokenEncodingError if the encoding is unknown, or the bytes are not base64
 */
export function decoded(content: AsyncIterable<Buffer>, encoding: string | undefined): AsyncIterable<Buffer> {
  switch ((encoding ?? '7bit').trim().toLowerCase()) {
    case 'base64':
      return fromBase64(content);
    case 'quoted-printable':
      return fromQuotedPrintable(content);
    case '7bit':
    case '8bit':
    case 'binary':
      return content;
    default:
      throw new BrokenEncodingError('The transfer encoding is not known.');
  }
}

async function* fromBase64(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held = '';
  let isPadded = false;
  for await (const chunk of content) {
    const text = held + chunk.toString('latin1').replace(/[\s\0]+/g, '');
    const padding = text.indexOf('=');
    const digits = padding < 0 ? text : text.slice(0, padding);
    if (
      /[^A-Za-z0-9+/]/.test(digits) ||
      (isPadded && digits !== '') ||
      (padding >= 0 && !/^=+$/.test(text.slice(padding)))
    )
      throw new BrokenEncodingError('The bytes are not base64.');
    const isLast = padding >= 0;
    const whole = isLast ? digits.length : digits.length - (digits.length % 4);
    if (isLast && digits.length % 4 === 1) throw new BrokenEncodingError('The bytes are not base64.');
    held = digits.slice(whole);
    if (whole > 0) yield Buffer.from(digits.slice(0, whole), 'base64');
    isPadded ||= isLast;
  }
  if (held.length === 1) throw new BrokenEncodingError('The bytes are not base64.');
  if (held !== '') yield Buffer.from(held, 'base64');
}

const EQUALS = 0x3d;

/** What follows an equals sign and is no code stays as it is, as RFC 2045, section 6.7, suggests. */
async function* fromQuotedPrintable(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer = Buffer.alloc(0);
  for await (const chunk of content) {
    const bytes = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    // A code has two digits after its sign, and they may be in the next chunk.
    const sign = bytes.lastIndexOf(EQUALS);
    const whole = sign >= 0 && sign > bytes.length - 3 ? sign : bytes.length;
    held = bytes.subarray(whole);
    if (whole > 0) yield decodeQuoted(bytes.subarray(0, whole));
  }
  if (held.length > 0) yield decodeQuoted(held);
}

function decodeQuoted(bytes: Buffer): Buffer {
  const out = Buffer.alloc(bytes.length);
  let length = 0;
  for (let at = 0; at < bytes.length; ) {
    const next = bytes.indexOf(EQUALS, at);
    const until = next < 0 ? bytes.length : next;
    length += bytes.copy(out, length, at, until);
    if (next < 0) break;
    const code = bytes.toString('latin1', next + 1, next + 3);
    if (/^[0-9A-Fa-f]{2}$/.test(code)) out[length++] = Number.parseInt(code, 16);
    else if (!code.startsWith('\n') && code !== '\r\n' && !(code === '' && next === bytes.length - 1)) {
      out[length++] = EQUALS;
      at = next + 1;
      continue;
    }
    at = next + 1 + (code.startsWith('\n') ? 1 : Math.min(2, bytes.length - next - 1));
  }
  return out.subarray(0, length);
}
