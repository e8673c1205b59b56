import { STATUS_CODES } from 'node:http';
import type { WarcRow } from '../../../store/sqlite/collection/warcRows.ts';

/** What stands for the value of one of the owner's own headers. */
const WITHHELD = '[withheld]';

/**
 * The head of a response as it can be rebuilt: its headers as they came, in their order. The bytes that are kept are
 * those after transfer decoding, so the header that says otherwise is renamed as other crawlers do, and so is a length
 * that is not theirs.
 *
 * @param bytes the length of the body that follows, or null where none does.
 */
export function responseHead({ status, headers }: WarcRow, bytes: number | null): Buffer {
  const code = status ?? 200;
  const isDecoded = headers.some(([name]) => isNamed(name, 'transfer-encoding'));
  const lines: string[] = [];
  let isLengthSaid = false;
  for (const [name, value] of headers) {
    const isLength = bytes !== null && isNamed(name, 'content-length');
    const isWrong = isLength && (isDecoded || isLengthSaid || value.trim() !== String(bytes));
    if (isLength && !isWrong) isLengthSaid = true;
    lines.push(`${isWrong || isNamed(name, 'transfer-encoding') ? 'X-Crawler-' : ''}${name}: ${value}`);
  }
  const isLengthChanged = lines.some((line) => line.startsWith('X-Crawler-'));
  if (bytes !== null && !isLengthSaid && isLengthChanged) lines.push(`Content-Length: ${bytes}`);
  return block(`HTTP/1.1 ${code} ${STATUS_CODES[code] ?? ''}`.trimEnd(), lines);
}

/** What was sent; a value of the owner's own is not told. */
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

/** Header values were read as the bytes that they are, one character each. */
function block(first: string, lines: readonly string[]): Buffer {
  const text = [first, ...lines].map((line) => line.replace(/[\r\n]+[\t ]*/g, ' '));
  return Buffer.from(`${text.join('\r\n')}\r\n\r\n`, 'latin1');
}
