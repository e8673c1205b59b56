import { Problem } from '../../../shared/problems.ts';
import type { ByteRange } from './ranges.ts';
import type { Part } from './sendParts.ts';

/** The body of a response with all bytes or some ranges, and the headers that describe it. */
export interface RangeBody {
  status: 200 | 206;
  parts: Part[];
  after: string;
  headers: Record<string, string>;
}

/** What is sent. */
export interface Representation {
  bytes: number;
  type: string;
  /** The digest of all bytes, in hex. The bytes cannot contain it, so it is a safe boundary. */
  sha256: string;
}

/** Returns the body for these ranges, or for all bytes if there are none. */
export function rangeBody(
  { bytes, type, sha256 }: Representation,
  ranges: ByteRange[] | undefined,
): RangeBody {
  const [first, ...others] = ranges ?? [];
  if (first === undefined) {
    const whole = { before: '', start: 0, end: bytes - 1 };
    return { status: 200, parts: [whole], after: '', headers: { 'Content-Type': type } };
  }
  if (others.length === 0) {
    const headers = { 'Content-Type': type, 'Content-Range': contentRange(first, bytes) };
    return { status: 206, parts: [{ before: '', ...first }], after: '', headers };
  }
  const boundary = sha256;
  const parts = [first, ...others].map((range, index) => ({
    ...range,
    before: `${index ? '\r\n' : ''}--${boundary}\r\nContent-Type: ${type}\r\nContent-Range: ${contentRange(range, bytes)}\r\n\r\n`,
  }));
  const headers = { 'Content-Type': `multipart/byteranges; boundary=${boundary}` };
  return { status: 206, parts, after: `\r\n--${boundary}--\r\n`, headers };
}

function contentRange({ start, end }: ByteRange, bytes: number): string {
  return `bytes ${start}-${end}/${bytes}`;
}

/** Returns the problem for ranges of which none is within the bytes. */
export function unsatisfiable(bytes: number): Problem {
  return new Problem('range_not_satisfiable', `The object has ${bytes} bytes. Request a range within them.`, {
    headers: { 'Content-Range': `bytes */${bytes}` },
  });
}
