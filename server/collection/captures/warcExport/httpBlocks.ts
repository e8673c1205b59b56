import { STATUS_CODES } from '../../../runtime/nodeHttp.ts';
import type { WarcRow } from '../../../store/sqlite/collection/warcRows.ts';

/** Replaces the values of the owner's own headers. */
const WITHHELD = '[withheld]';

/**
 * Rebuilds the head of a response with its headers in their original order. Stored bytes are those after transfer
 * decoding, so `Transfer-Encoding` and a wrong `Content-Length` get the prefix `X-Crawler-`, as in other crawlers.
 *
 * @param bytes the length of the body that follows; null if the record refers to another for it; 'omitted' if the body was
 * not kept, so that nothing is said of its length.
 */
export function responseHead(
  { status, headers }: Pick<WarcRow, 'status' | 'headers'>,
  bytes: number | null | 'omitted',
): Buffer {
  const code = status ?? 200;
  const isDecoded = headers.some(([name]) => isNamed(name, 'transfer-encoding'));
  const lines: string[] = [];
  let hasLength = false;
  for (const [name, value] of headers) {
    const isLength = bytes !== null && isNamed(name, 'content-length');
    const isWrong = isLength && (isDecoded || hasLength || value.trim() !== String(bytes));
    if (isLength && !isWrong) hasLength = true;
    lines.push(`${isWrong || isNamed(name, 'transfer-encoding') ? 'X-Crawler-' : ''}${name}: ${value}`);
  }
  const isLengthChanged = lines.some((line) => line.startsWith('X-Crawler-'));
  if (typeof bytes === 'number' && !hasLength && isLengthChanged) lines.push(`Content-Length: ${bytes}`);
  return block(`HTTP/1.1 ${code} ${STATUS_CODES[code] ?? ''}`.trimEnd(), lines);
}

/** Rebuilds the request as sent; the values of the owner's own headers are withheld. */
export function requestBlock(row: WarcRow): Buffer | undefined {
  if (row.request === null) return undefined;
  const { method, headers } = row.request;
  const { pathname, search } = new URL(row.final_url);
  const lines = headers.map(([name, value]) => `${name}: ${value ?? WITHHELD}`);
  return block(`${method} ${pathname}${search} HTTP/1.1`, lines);
}

function isNamed(name: string, known: string): boolean {
  return name.toLowerCase() === known;
}

/** Encodes as latin1, because header values are stored with one character per byte. */
function block(first: string, lines: readonly string[]): Buffer {
  const text = [first, ...lines].map((line) => line.replace(/[\r\n]+[\t ]*/g, ' '));
  return Buffer.from(`${text.join('\r\n')}\r\n\r\n`, 'latin1');
}
