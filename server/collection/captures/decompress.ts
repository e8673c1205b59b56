import { createGunzip, type Gunzip } from 'node:zlib';
import { DamagedCaptureFileError } from './captureFileErrors.ts';

/** Opens a file from its first byte; may be called more than once. */
export type OpenBytes = () => AsyncIterable<Buffer>;

const GZIP_MAGIC = [0x1f, 0x8b] as const;
/** Size of the inflater's output buffer. */
const OUTPUT_BYTES = 65_536;

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
  const inflater = new Inflater();
  try {
    for await (const piece of bytes) {
      for await (const chunk of inflater.write(piece)) {
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
  const inflater = new Inflater();
  let decompressedBytes = 0;
  try {
    for await (const piece of open()) {
      const intactLength = Math.max(0, Math.min(piece.length, intact - inflater.consumed));
      const steps = intactLength > 0 ? [piece.subarray(0, intactLength)] : [];
      for (let at = intactLength; at < piece.length; at += 1) steps.push(piece.subarray(at, at + 1));
      for (const step of steps) {
        for await (const chunk of inflater.write(step)) {
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

/** A gzip inflater that takes one piece at a time and yields all of its output before taking the next. */
class Inflater {
  readonly #gunzip: Gunzip = createGunzip({ chunkSize: OUTPUT_BYTES });
  #wake: () => void = () => {};
  #failure: Error | undefined;
  /** Compressed bytes written without an error. */
  consumed = 0;

  constructor() {
    this.#gunzip.on('readable', () => this.#wake());
    this.#gunzip.on('end', () => this.#wake());
    this.#gunzip.on('error', (error) => {
      this.#failure = error;
      this.#wake();
    });
  }

  async *write(piece: Buffer): AsyncGenerator<Buffer, void, undefined> {
    let written = false;
    this.#gunzip.write(piece, () => {
      written = true;
      this.#wake();
    });
    yield* this.#drain(() => written);
    this.consumed += piece.length;
    if (this.#gunzip.bytesWritten < this.consumed)
      throw new DamagedCaptureFileError('Other bytes follow the gzip data.');
  }

  async *end(): AsyncGenerator<Buffer, void, undefined> {
    this.#gunzip.end();
    yield* this.#drain(() => this.#gunzip.readableEnded);
  }

  async *#drain(isDone: () => boolean): AsyncGenerator<Buffer, void, undefined> {
    for (;;) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      if (this.#failure) throw this.#failure;
      const chunk = this.#gunzip.read() as Buffer | null;
      if (chunk) yield chunk;
      else if (isDone()) return;
      else await promise;
    }
  }

  close(): void {
    this.#gunzip.destroy();
  }
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

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, undefined> {
    try {
      if (this.#first.length > 0) yield this.#first;
      for (;;) {
        const { done, value } = await this.#rest.next();
        if (done) return;
        yield value;
      }
    } finally {
      await this.#rest.return?.();
    }
  }
}

function isCorrupt(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'Z_DATA_ERROR';
}

function damageOf(error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error) || !String(error.code).startsWith('Z_')) return error;
  const isCut = error.code === 'Z_BUF_ERROR';
  return new DamagedCaptureFileError(
    isCut ? 'The gzip data is cut short.' : `The gzip data is corrupt: ${error.message}.`,
    {
      invalidatesLast: /incorrect (data|length) check/.test(error.message),
      cause: error,
    },
  );
}
