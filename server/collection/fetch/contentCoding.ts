import { promisify } from 'node:util';
import { brotliDecompress, constants, inflate, inflateRaw, zstdDecompress } from 'node:zlib';
import pLimit from 'p-limit';
import { errorCode } from '../../../shared/values/errorCode.ts';
import type { ByteBudget } from '../../browser/requestGate.ts';
import { gunzip } from './gunzip.ts';

const CODINGS: ReadonlySet<string> = new Set(['gzip', 'x-gzip', 'deflate', 'br', 'zstd']);
/** No server sends more than two. */
const MAX_CODINGS = 4;

const unbrotli = promisify(brotliDecompress);
const unzstd = promisify(zstdDecompress);
const unzlib = promisify(inflate);
const unraw = promisify(inflateRaw);

/** One after the other, because a few kilobytes of many parts can become gigabytes. */
const inTurn = pLimit(1);

/**
 * Removes the content codings (RFC 9110, section 8.4) of a body as browsers do: a body without the signature of its coding,
 * or with a coding that nobody knows, is taken as it is; `deflate` may lack its zlib header; what breaks off is decoded as far
 * as it came. Takes the decoded bytes from the budget of the page, all of it if they do not fit.
 *
 * @param encoding the value of `Content-Encoding`; null for none
 * @returns null if the body is damaged or too large
 */
export async function decodeContent(
  body: Buffer,
  encoding: string | null,
  budget: ByteBudget,
): Promise<Buffer | null> {
  const codings = (encoding ?? '')
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity');
  if (codings.length === 0 || !codings.every((coding) => CODINGS.has(coding))) return body;
  if (codings.length > MAX_CODINGS) return null;
  return inTurn(async () => {
    if (budget.left <= 0) return null;
    const maxOutputLength = budget.left;
    let decoded = body;
    try {
      for (const coding of codings.reverse()) decoded = await decodeOnce(decoded, coding, maxOutputLength);
    } catch (error) {
      if (errorCode(error) === 'ERR_BUFFER_TOO_LARGE') budget.exhaust();
      return null;
    }
    return budget.take(decoded.length) ? decoded : null;
  });
}

async function decodeOnce(body: Buffer, coding: string, maxOutputLength: number): Promise<Buffer> {
  const begins = (...bytes: number[]) => bytes.every((byte, index) => body[index] === byte);
  if (body.length === 0) return body;
  const limit = { maxOutputLength, finishFlush: constants.Z_SYNC_FLUSH };
  switch (coding) {
    case 'deflate':
      // RFC 1950: the header is a multiple of 31.
      return ((body[0] ?? 0) & 0x0f) === 8 && body.length > 1 && body.readUInt16BE(0) % 31 === 0
        ? unzlib(body, limit)
        : unraw(body, limit);
    case 'br':
      return unbrotli(body, { maxOutputLength, finishFlush: constants.BROTLI_OPERATION_FLUSH });
    case 'zstd':
      return begins(0x28, 0xb5, 0x2f, 0xfd)
        ? unzstd(body, { maxOutputLength, finishFlush: constants.ZSTD_e_flush })
        : body;
    default:
      return begins(0x1f, 0x8b) ? gunzip(body, { maxOutputLength, mayBeCut: true }) : body;
  }
}
