import { createGunzip } from 'node:zlib';
import { DamagedCaptureFileError } from '../captureFileErrors.ts';
import { Inflater, OUTPUT_BYTES } from './inflater.ts';

/** Opens a file from its first byte; may be called more than once. */
export type OpenBytes = () => AsyncIterable<Buffer>;

const GZIP_MAGIC = [0x1f, 0x8b] as const;

/** Whether a file begins like gzip. */
export async function isGzip(open: OpenBytes): Promise<boolean> {
  const bytes = new PeekableStream(open());
  try {
    return await bytes.beginsWith(GZIP_MAGIC);
  } finally {
    await bytes.close();
  }
}

/**
 * Yields a file's bytes, decompressed if they are gzip: one member or several in sequence, as in WARC files (ISO 28500,
 * annex D). If the data is corrupt, everything before the corrupt position is yielded before the error is thrown.
 *
 * @throws DamagedCaptureFileError
 */
export async function* decompress(open: OpenBytes): AsyncGenerator<Buffer, void, undefined> {
  const bytes = new PeekableStream(open());
  if (!(await bytes.beginsWith(GZIP_MAGIC))) return yield* bytes;
  let yielded = 0;
  const inflater = new Inflater(createGunzip({ chunkSize: OUTPUT_BYTES }));
  try {
    for await (const piece of bytes) {
      for await (const chunk of inflate(inflater, piece)) {
        yielded += chunk.length;
        yield chunk;
      }
    }
    yield* inflater.end();
    return;
  } catch (error) {
    if (!isCorrupt(error)) throw damageOf(error);
  } finally {
    inflater.close();
  }
  yield* remainder(open, { yielded, intact: inflater.consumed });
}

/**
 * Yields the output that the inflater dropped with its error: decompresses the file again, byte by byte from the corrupt
 * piece on, so that nothing before the corrupt position is lost.
 *
 * @param yielded bytes already yielded. @param intact compressed bytes before the corrupt piece.
 */
async function* remainder(
  open: OpenBytes,
  { yielded, intact }: { yielded: number; intact: number },
): AsyncGenerator<Buffer, void, undefined> {
  const inflater = new Inflater(createGunzip({ chunkSize: OUTPUT_BYTES }));
  let decompressedBytes = 0;
  try {
    for await (const piece of open()) {
      const intactLength = Math.max(0, Math.min(piece.length, intact - inflater.consumed));
      const steps = intactLength > 0 ? [piece.subarray(0, intactLength)] : [];
      for (let at = intactLength; at < piece.length; at += 1) steps.push(piece.subarray(at, at + 1));
      for (const step of steps) {
        for await (const chunk of inflate(inflater, step)) {
          const fresh = chunk.subarray(Math.max(0, yielded - decompressedBytes));
          decompressedBytes += chunk.length;
          if (fresh.length > 0) yield fresh;
        }
      }
    }
    yield* inflater.end();
  } catch (error) {
    throw damageOf(error);
  } finally {
    inflater.close();
  }
}

/** @throws DamagedCaptureFileError if the data ends within the piece. */
async function* inflate(inflater: Inflater, piece: Buffer): AsyncGenerator<Buffer, void, undefined> {
  yield* inflater.write(piece);
  if (inflater.excess > 0)
    throw new DamagedCaptureFileError('Other bytes follow the gzip data.', { endsFile: true });
}

/** A stream whose first bytes can be inspected before it is read. */
class PeekableStream {
  readonly #rest: AsyncIterator<Buffer>;
  #first: Buffer = Buffer.alloc(0);

  constructor(bytes: AsyncIterable<Buffer>) {
    this.#rest = bytes[Symbol.asyncIterator]();
  }

  async beginsWith(magic: readonly number[]): Promise<boolean> {
    while (this.#first.length < magic.length) {
      const { done, value } = await this.#rest.next();
      if (done) break;
      this.#first = Buffer.concat([this.#first, value]);
    }
    return magic.every((byte, index) => this.#first[index] === byte);
  }

  async close(): Promise<void> {
    await this.#rest.return?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, undefined> {
    try {
      if (this.#first.length > 0) yield this.#first;
      for (;;) {
        const { done, value } = await this.#rest.next();
        if (done) return;
        yield value;
      }
    } finally {
      await this.close();
    }
  }
}

function isCorrupt(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'Z_DATA_ERROR';
}

/** Turns an error of zlib into damage of the file. */
export function damageOf(error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error) || !String(error.code).startsWith('Z_')) return error;
  const isCut = error.code === 'Z_BUF_ERROR';
  const isChecksum = /incorrect (data|length) check/.test(error.message);
  return new DamagedCaptureFileError(
    isCut ? 'The gzip data is cut short.' : `The gzip data is corrupt: ${error.message}.`,
    {
      invalidatesLast: isChecksum,
      endsFile: !isChecksum,
      cause: error,
    },
  );
}
