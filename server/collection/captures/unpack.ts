import { createGunzip, type Gunzip } from 'node:zlib';
import { DamagedCaptureFileError } from './damage.ts';

/** Gives a file's bytes from the first on, as often as it is asked. */
export type OpenBytes = () => AsyncIterable<Buffer>;

const GZIP_MAGIC = [0x1f, 0x8b] as const;
/** What the inflater writes into at a time. */
const OUTPUT_BYTES = 65_536;

/**
 * A file's bytes, unpacked where they are gzip: one stream or one after the other, as WARC files are (ISO 28500,
 * annex D). Where the data is corrupt, everything that can be unpacked before that place is given first.
 *
 * @throws DamagedCaptureFileError
 */
export async function* unpacked(open: OpenBytes): AsyncGenerator<Buffer, void, undefined> {
  const bytes = new Beginning(open());
  if (!(await bytes.beginsWith(GZIP_MAGIC))) return yield* bytes;
  let given = 0;
  const inflating = new Inflating();
  try {
    for await (const piece of bytes) {
      for await (const chunk of inflating.write(piece)) {
        given += chunk.length;
        yield chunk;
      }
    }
    yield* inflating.end();
    return;
  } catch (error) {
    if (!isCorrupt(error)) throw damageOf(error);
  } finally {
    inflating.close();
  }
  yield* lastWords(open, { given, intact: inflating.taken });
}

/**
 * Unpacks again what the inflater swallowed with its error: byte by byte from the piece on that holds the corrupt
 * place, so that nothing that came before it is lost.
 *
 * @param given how much was given already. @param intact how many packed bytes went in before that piece.
 */
async function* lastWords(
  open: OpenBytes,
  { given, intact }: { given: number; intact: number },
): AsyncGenerator<Buffer, void, undefined> {
  const inflating = new Inflating();
  let unpackedBytes = 0;
  try {
    for await (const piece of open()) {
      const whole = Math.max(0, Math.min(piece.length, intact - inflating.taken));
      const steps = whole > 0 ? [piece.subarray(0, whole)] : [];
      for (let at = whole; at < piece.length; at += 1) steps.push(piece.subarray(at, at + 1));
      for (const step of steps) {
        for await (const chunk of inflating.write(step)) {
          const fresh = chunk.subarray(Math.max(0, given - unpackedBytes));
          unpackedBytes += chunk.length;
          if (fresh.length > 0) yield fresh;
        }
      }
    }
    yield* inflating.end();
  } catch (error) {
    throw damageOf(error);
  } finally {
    inflating.close();
  }
}

/** A gzip inflater that is given one piece at a time, and has given all of it before it takes the next. */
class Inflating {
  readonly #gunzip: Gunzip = createGunzip({ chunkSize: OUTPUT_BYTES });
  #wake: () => void = () => {};
  #failure: Error | undefined;
  /** Packed bytes that went in without an error. */
  taken = 0;

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
    this.taken += piece.length;
    if (this.#gunzip.bytesWritten < this.taken)
      throw new DamagedCaptureFileError('Something follows the gzip data.');
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

/** A stream whose first bytes can be looked at before it is read. */
class Beginning {
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
      spoilsLast: /incorrect (data|length) check/.test(error.message),
      cause: error,
    },
  );
}
