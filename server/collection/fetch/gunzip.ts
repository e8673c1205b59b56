import { promisify } from 'node:util';
import { constants, crc32, type Inflate, inflateRaw, inflateRawSync, type ZlibOptions } from 'node:zlib';

/**
 * Decompresses gzip as browsers do: what follows the compressed data is ignored, such as the comment that a cache appends to
 * a page. Node refuses it, unless it is zeros. Several members in sequence are one text (RFC 1952, section 2.2).
 */

/** A member of gzip data is cut short or altered. It has the code of zlib, so that callers treat both alike. */
class GzipError extends Error {
  readonly code: 'Z_BUF_ERROR' | 'Z_DATA_ERROR';

  constructor(code: GzipError['code'], sentence: string) {
    super(sentence);
    this.name = 'GzipError';
    this.code = code;
  }
}

interface GunzipOptions {
  /** The limit on the decompressed bytes. */
  maxOutputLength: number;
  /** Whether data that breaks off is decompressed as far as it goes. */
  mayBeCut?: boolean;
}

/** What zlib returns with the option `info`. */
interface Inflated {
  buffer: Buffer;
  engine: Inflate;
}

const inflateInThread = promisify(
  inflateRaw as unknown as (
    bytes: Uint8Array,
    options: ZlibOptions,
    done: (error: Error | null, result: Inflated) => void,
  ) => void,
);

/** @throws an error with the `code` of zlib: `Z_…` for damaged data, `ERR_BUFFER_TOO_LARGE` */
export function gunzipSync(bytes: Uint8Array, options: GunzipOptions): Buffer {
  const members = new Members(bytes, options);
  for (let next = members.next(); next; next = members.next())
    members.add(inflateRawSync(next.bytes, next.options) as unknown as Inflated);
  return members.output();
}

/** Like `gunzipSync`, but not on the event loop. */
export async function gunzip(bytes: Uint8Array, options: GunzipOptions): Promise<Buffer> {
  const members = new Members(bytes, options);
  for (let next = members.next(); next; next = members.next())
    members.add(await inflateInThread(next.bytes, next.options));
  return members.output();
}

const TRAILER_BYTES = 8;

class Members {
  readonly #bytes: Buffer;
  readonly #options: GunzipOptions;
  readonly #outputs: Buffer[] = [];
  #at = 0;
  #left: number;

  constructor(bytes: Uint8Array, options: GunzipOptions) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#options = options;
    this.#left = options.maxOutputLength;
  }

  /** Returns the deflated data of the next member; undefined if no other follows. */
  next(): { bytes: Buffer; options: ZlibOptions } | undefined {
    const length = headerLength(this.#bytes.subarray(this.#at));
    if (length === undefined) {
      if (this.#at > 0 || this.#options.mayBeCut) return undefined;
      throw new GzipError('Z_DATA_ERROR', 'The data does not begin as gzip.');
    }
    this.#at += length;
    return {
      bytes: this.#bytes.subarray(this.#at),
      options: {
        info: true,
        maxOutputLength: Math.max(1, this.#left),
        ...(this.#options.mayBeCut ? { finishFlush: constants.Z_SYNC_FLUSH } : {}),
      },
    };
  }

  /** @throws GzipError if the checksum differs, or is missing */
  add({ buffer, engine }: Inflated): void {
    this.#outputs.push(buffer);
    this.#left -= buffer.length;
    this.#at += engine.bytesWritten;
    const trailer = this.#bytes.subarray(this.#at, this.#at + TRAILER_BYTES);
    this.#at += TRAILER_BYTES;
    if (this.#options.mayBeCut) return;
    if (trailer.length < TRAILER_BYTES) throw new GzipError('Z_BUF_ERROR', 'The data breaks off.');
    const isIntact =
      trailer.readUInt32LE(0) === crc32(buffer) && trailer.readUInt32LE(4) === buffer.length % 2 ** 32;
    if (!isIntact) throw new GzipError('Z_DATA_ERROR', 'The checksum of the data differs.');
  }

  output(): Buffer {
    const [first, ...others] = this.#outputs;
    return first && others.length === 0 ? first : Buffer.concat(this.#outputs);
  }
}

const [EXTRA, NAME, COMMENT, HEADER_CHECKSUM] = [4, 8, 16, 2] as const;

/** The length of a member's header (RFC 1952, section 2.3); undefined if the bytes do not begin with a whole one. */
function headerLength(bytes: Buffer): number | undefined {
  if (bytes.length < 10 || bytes[0] !== 0x1f || bytes[1] !== 0x8b || bytes[2] !== 8) return undefined;
  const flags = bytes[3] ?? 0;
  let at = 10;
  if (flags & EXTRA) {
    if (bytes.length < at + 2) return undefined;
    at += 2 + bytes.readUInt16LE(at);
  }
  for (const flag of [NAME, COMMENT]) {
    if (!(flags & flag)) continue;
    const end = bytes.indexOf(0, at);
    if (end < 0) return undefined;
    at = end + 1;
  }
  if (flags & HEADER_CHECKSUM) at += 2;
  return at <= bytes.length ? at : undefined;
}
