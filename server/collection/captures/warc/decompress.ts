import { crc32, createGunzip, createInflateRaw, type Gunzip, type InflateRaw } from 'node:zlib';
import { CaptureFileTooLargeError, DamagedCaptureFileError } from '../capture.ts';

/** Opens a file from its first byte; may be called more than once. */
export type OpenBytes = () => AsyncIterable<Buffer>;

const GZIP_MAGIC = [0x1f, 0x8b] as const;
/** A frame of Zstandard (RFC 8878, section 3.1), and the one that holds the dictionary of a file “.warc.zst”. */
const ZSTD_MAGICS = [
  [0x28, 0xb5, 0x2f, 0xfd],
  [0x5d, 0x2a, 0x4d, 0x18],
] as const;

/** What to do with a file that is compressed with Zstandard. Node’s decoder would leave out all but its first frame. */
const IS_ZSTD =
  'It is compressed with Zstandard. Decompress it first, for example with “zstd -d”, and import the result.';

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
  for (const magic of ZSTD_MAGICS) {
    if (!(await bytes.beginsWith(magic))) continue;
    await bytes.close();
    throw new DamagedCaptureFileError(IS_ZSTD);
  }
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
    for await (const piece of byteByByteAfter(intact, open())) {
      for await (const chunk of inflate(inflater, piece)) {
        const fresh = chunk.subarray(Math.max(0, yielded - decompressedBytes));
        decompressedBytes += chunk.length;
        if (fresh.length > 0) yield fresh;
      }
    }
    yield* inflater.end();
  } catch (error) {
    throw damageOf(error);
  } finally {
    inflater.close();
  }
}

/** Yields the first `intact` bytes in the pieces in which they come, and the others one by one. */
async function* byteByByteAfter(
  intact: number,
  pieces: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer, void, undefined> {
  let read = 0;
  for await (const piece of pieces) {
    const intactLength = Math.max(0, Math.min(piece.length, intact - read));
    read += piece.length;
    if (intactLength > 0) yield piece.subarray(0, intactLength);
    for (let at = intactLength; at < piece.length; at += 1) yield piece.subarray(at, at + 1);
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
function damageOf(error: unknown): unknown {
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

/** One member of a gzip file (RFC 1952). */
interface GzipMember {
  /** Where it begins in the decompressed file. */
  start: number;
  /** Its decompressed bytes. What is not read of them is skipped. */
  bytes: AsyncIterable<Buffer>;
}

/** Limit on the optional fields of a member's header. */
const MAX_HEADER_BYTES = 131_072;
const TRAILER_BYTES = 8;
const FLAGS = { headerChecksum: 2, extra: 4, name: 8, comment: 16 };

/**
 * Yields the members of a gzip file, each with its own bytes. A wrong checksum ends the bytes of its member with an error
 * and the iteration goes on, because the end of the member is known. Corrupt data ends both: the next member could only
 * be guessed, and a captured file may contain gzip members that look like records.
 *
 * @param maxBytes the limit on all decompressed bytes, skipped ones included.
 * @throws DamagedCaptureFileError if something other than a member follows; CaptureFileTooLargeError; the signal's reason.
 */
export async function* gzipMembers(
  open: OpenBytes,
  maxBytes: number,
  signal: AbortSignal,
): AsyncGenerator<GzipMember, void, undefined> {
  const input = new Input(open());
  let member: Member | undefined;
  try {
    for (let start = 0; await input.hasMore(); ) {
      await skipHeader(input);
      member = new Member(input);
      yield { start, bytes: member };
      await member.skip(maxBytes - start, signal);
      if (!member.isWhole) return;
      start += member.size;
    }
  } finally {
    await member?.close();
    await input.close();
  }
}

/** The decompressed bytes of one member. An iteration that is broken off can be continued. */
class Member implements AsyncIterable<Buffer> {
  readonly #chunks: AsyncGenerator<Buffer, void, undefined>;
  /** Whether the compressed data ended, so that the next member can be found. */
  isWhole = false;
  /** The decompressed bytes so far. */
  size = 0;

  constructor(input: Input) {
    this.#chunks = this.#read(input);
  }

  [Symbol.asyncIterator](): AsyncIterator<Buffer, void, undefined> {
    return { next: () => this.#chunks.next() };
  }

  /** Skips the rest. Its damage does not matter any more. */
  async skip(maxBytes: number, signal: AbortSignal): Promise<void> {
    try {
      while (!(await this.#chunks.next()).done) {
        signal.throwIfAborted();
        if (this.size > maxBytes) throw new CaptureFileTooLargeError(maxBytes);
      }
    } catch (error) {
      if (!(error instanceof DamagedCaptureFileError)) throw error;
    }
  }

  async close(): Promise<void> {
    await this.#chunks.return();
  }

  async *#read(input: Input): AsyncGenerator<Buffer, void, undefined> {
    const inflater = new Inflater(createInflateRaw({ chunkSize: OUTPUT_BYTES }));
    let checksum = 0;
    try {
      while (!inflater.isEnded) {
        const piece = await input.piece();
        for await (const chunk of piece ? inflater.write(piece) : inflater.end()) {
          checksum = crc32(chunk, checksum);
          this.size += chunk.length;
          yield chunk;
        }
        if (piece) input.unread(piece.subarray(piece.length - inflater.excess));
      }
    } catch (error) {
      throw damageOf(error);
    } finally {
      inflater.close();
    }
    const trailer = await input.take(TRAILER_BYTES);
    this.isWhole = true;
    if (trailer.readUInt32LE(0) !== checksum || trailer.readUInt32LE(4) !== this.size % 2 ** 32)
      throw new DamagedCaptureFileError('The gzip checksum is wrong.', { invalidatesLast: true });
  }
}

async function skipHeader(input: Input): Promise<void> {
  const fixed = await input.take(10);
  if (fixed[0] !== 0x1f || fixed[1] !== 0x8b || fixed[2] !== 8)
    throw new DamagedCaptureFileError('Other bytes follow the gzip data.');
  const flags = fixed[3] ?? 0;
  if (flags & FLAGS.extra) await input.take((await input.take(2)).readUInt16LE(0));
  if (flags & FLAGS.name) await input.skipText();
  if (flags & FLAGS.comment) await input.skipText();
  if (flags & FLAGS.headerChecksum) await input.take(2);
}

/** Compressed bytes, read by pieces or by lengths. */
class Input {
  readonly #chunks: AsyncIterator<Buffer>;
  #held: Buffer = Buffer.alloc(0);

  constructor(bytes: AsyncIterable<Buffer>) {
    this.#chunks = bytes[Symbol.asyncIterator]();
  }

  async hasMore(): Promise<boolean> {
    return this.#held.length > 0 || this.#load();
  }

  /** Returns the next available bytes, or undefined at the end. */
  async piece(): Promise<Buffer | undefined> {
    if (!(await this.hasMore())) return undefined;
    const piece = this.#held;
    this.#held = Buffer.alloc(0);
    return piece;
  }

  /** Returns bytes of the last piece. */
  unread(rest: Buffer): void {
    this.#held = rest;
  }

  /** @throws DamagedCaptureFileError if there are fewer. */
  async take(length: number): Promise<Buffer> {
    while (this.#held.length < length) if (!(await this.#load())) throw cutShort();
    const taken = this.#held.subarray(0, length);
    this.#held = this.#held.subarray(length);
    return taken;
  }

  /** Skips a text that ends with a zero byte. */
  async skipText(): Promise<void> {
    let end = this.#held.indexOf(0);
    while (end < 0) {
      if (this.#held.length > MAX_HEADER_BYTES || !(await this.#load())) throw cutShort();
      end = this.#held.indexOf(0);
    }
    this.#held = this.#held.subarray(end + 1);
  }

  async close(): Promise<void> {
    await this.#chunks.return?.();
  }

  async #load(): Promise<boolean> {
    const { done, value } = await this.#chunks.next();
    if (done) return false;
    this.#held = this.#held.length === 0 ? value : Buffer.concat([this.#held, value]);
    return true;
  }
}

function cutShort(): DamagedCaptureFileError {
  return new DamagedCaptureFileError('The gzip data is cut short.');
}

/** Size of the output buffer of a decompression stream. */
const OUTPUT_BYTES = 65_536;

/** Decompresses one piece at a time and yields all of its output before taking the next. */
class Inflater {
  readonly #stream: Gunzip | InflateRaw;
  #wake: () => void = () => {};
  #failure: Error | undefined;
  /** Compressed bytes written without an error. */
  consumed = 0;

  constructor(stream: Gunzip | InflateRaw) {
    this.#stream = stream;
    this.#stream.on('readable', () => this.#wake());
    this.#stream.on('end', () => this.#wake());
    this.#stream.on('error', (error) => {
      this.#failure = error;
      this.#wake();
    });
  }

  async *write(piece: Buffer): AsyncGenerator<Buffer, void, undefined> {
    let written = false;
    this.#stream.write(piece, () => {
      written = true;
      this.#wake();
    });
    yield* this.#drain(() => written || this.isEnded);
    this.consumed += piece.length;
  }

  async *end(): AsyncGenerator<Buffer, void, undefined> {
    this.#stream.end();
    yield* this.#drain(() => this.isEnded);
  }

  /** Whether the compressed data has ended. */
  get isEnded(): boolean {
    return this.#stream.readableEnded;
  }

  /** The number of bytes written after the end of the compressed data. */
  get excess(): number {
    return this.consumed - this.#stream.bytesWritten;
  }

  async *#drain(isDone: () => boolean): AsyncGenerator<Buffer, void, undefined> {
    for (;;) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      if (this.#failure) throw this.#failure;
      const chunk = this.#stream.read() as Buffer | null;
      if (chunk) yield chunk;
      else if (isDone()) return;
      else await promise;
    }
  }

  close(): void {
    this.#stream.destroy();
  }
}
