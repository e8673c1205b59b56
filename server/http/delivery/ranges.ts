import type { IncomingMessage } from 'node:http';
import parseRange from 'range-parser';

/** Bytes from `start` to `end`, both inclusive. */
export interface ByteRange {
  start: number;
  end: number;
}

/** More ranges than this have no honest use: the request is then answered whole. */
const MAX_RANGES = 100;

/**
 * The ranges of a GET, `undefined` where the whole is to be sent: no Range, another unit, or one that cannot be read
 * or asks for more than it is worth (RFC 9110, section 14.2, lets a server ignore it).
 */
export function rangesOf(request: IncomingMessage, bytes: number): ByteRange[] | 'unsatisfiable' | undefined {
  const header = request.method === 'GET' ? request.headers.range : undefined;
  if (header === undefined || !/^bytes=/i.test(header)) return undefined;
  if (header.split(',').length > MAX_RANGES) return undefined;
  const ranges = parseRange(bytes, atMostTheWhole(header, bytes));
  if (ranges === -2) return undefined;
  if (ranges === -1) return 'unsatisfiable';
  // Ranges that overlap would send the same bytes again and again; they are sent as one.
  const total = ranges.reduce((sum, { start, end }) => sum + end - start + 1, 0);
  const wanted = total > bytes ? combined(ranges) : [...ranges];
  return wanted.length > 0 ? wanted : 'unsatisfiable';
}

/** A suffix longer than the object means all of it (RFC 9110, section 14.1.2), which the parser takes for a fault. */
function atMostTheWhole(header: string, bytes: number): string {
  return header.replace(/([=,]\s*-)(\d+)/g, (_whole, before: string, digits: string) => {
    return `${before}${Math.min(Number(digits), bytes)}`;
  });
}

function combined(ranges: readonly ByteRange[]): ByteRange[] {
  const joined: ByteRange[] = [];
  for (const range of ranges.toSorted((left, right) => left.start - right.start)) {
    const last = joined.at(-1);
    if (last && range.start <= last.end + 1) last.end = Math.max(last.end, range.end);
    else joined.push({ ...range });
  }
  return joined;
}
