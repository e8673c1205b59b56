import type { IncomingMessage } from 'node:http';
import parseRange from 'range-parser';

/*
 * The `send` package serves files by their path and answers a request for several ranges with the whole file. We
 * serve blobs only if they have the recorded size (`blobFile.ts`), and several ranges as `multipart/byteranges`.
 */

/** Bytes from `start` to `end`, both inclusive. */
export interface ByteRange {
  start: number;
  end: number;
}

/** A request for more ranges than this gets all bytes instead. */
const MAX_RANGES = 100;

/**
 * Returns the ranges of a GET, or `undefined` if all bytes are to be sent: there is no Range, its unit is not bytes, it
 * is malformed, or it has too many ranges (RFC 9110, section 14.2, allows a server to ignore it).
 */
export function rangesOf(request: IncomingMessage, bytes: number): ByteRange[] | 'unsatisfiable' | undefined {
  const header = request.method === 'GET' ? request.headers.range : undefined;
  if (header === undefined || !/^bytes=/i.test(header)) return undefined;
  if (header.split(',').length > MAX_RANGES) return undefined;
  const ranges = parseRange(bytes, clampSuffixes(header, bytes));
  if (ranges === -2) return undefined;
  if (ranges === -1) return 'unsatisfiable';
  // Overlapping ranges are merged if they would otherwise send bytes repeatedly.
  const total = ranges.reduce((sum, { start, end }) => sum + end - start + 1, 0);
  const wanted = total > bytes ? merged(ranges) : [...ranges];
  return wanted.length > 0 ? wanted : 'unsatisfiable';
}

/** Shortens suffix lengths to the object's size. RFC 9110, section 14.1.2, allows longer ones, but the parser does not. */
function clampSuffixes(header: string, bytes: number): string {
  return header.replace(/([=,]\s*-)(\d+)/g, (_whole, before: string, digits: string) => {
    return `${before}${Math.min(Number(digits), bytes)}`;
  });
}

function merged(ranges: readonly ByteRange[]): ByteRange[] {
  const joined: ByteRange[] = [];
  for (const range of ranges.toSorted((left, right) => left.start - right.start)) {
    const last = joined.at(-1);
    if (last && range.start <= last.end + 1) last.end = Math.max(last.end, range.end);
    else joined.push({ ...range });
  }
  return joined;
}
