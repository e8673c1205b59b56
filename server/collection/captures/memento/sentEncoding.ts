import { startOfBlob } from '../../../store/blobs/away/startOfBlob.ts';
import type { Store } from '../../../store/store.ts';

const KNOWN_CODINGS: ReadonlySet<string> = new Set(['gzip', 'x-gzip', 'deflate', 'br', 'zstd']);
/** Bodies are encoded once, rarely twice; more is an attack on the client. */
const MAX_CODINGS = 3;
/** How much of a body is inspected. */
const INSPECTED_BYTES = 512;

/**
 * Returns the `Content-Encoding` to send with a memento, so that the client decodes its bytes. Some servers and archives
 * state a coding for a body that is not encoded; a client would fail to decode it, so none is sent then. None is sent
 * either if a coding is unknown.
 *
 * @param recorded the codings of the recorded response, as `contentEncodingOf` returns them.
 */
export async function sentEncoding(
  { blobs }: Pick<Store, 'blobs'>,
  sha256: string,
  recorded: string | null,
): Promise<string | undefined> {
  const codings = recorded?.split(', ') ?? [];
  const last = codings.at(-1);
  if (recorded === null || last === undefined || codings.length > MAX_CODINGS) return undefined;
  if (!codings.every((coding) => KNOWN_CODINGS.has(coding))) return undefined;
  const start = await startOfBlob(blobs, sha256, INSPECTED_BYTES);
  return start && isEncodedAs(start, last) ? recorded : undefined;
}

function isEncodedAs(start: Uint8Array, coding: string): boolean {
  if (coding.endsWith('gzip')) return beginsWith(start, 0x1f, 0x8b);
  if (coding === 'zstd') return beginsWith(start, 0x28, 0xb5, 0x2f, 0xfd);
  // These two have no signature.
  return !start.every((byte) => byte >= 0x20 || (byte >= 0x09 && byte <= 0x0d));
}

function beginsWith(bytes: Uint8Array, ...signature: number[]): boolean {
  return signature.every((byte, index) => bytes[index] === byte);
}
