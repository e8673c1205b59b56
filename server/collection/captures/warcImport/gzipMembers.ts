import { crc32, createInflateRaw } from 'node:zlib';
import { CaptureFileTooLargeError, DamagedCaptureFileError } from '../captureFileErrors.ts';
import { damageOf, type OpenBytes } from './decompress.ts';
import { Inflater, OUTPUT_BYTES } from './inflater.ts';

/** One member of a gzip file (RFC 1952). */
export interface GzipMember {
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
