import { AsyncIterReader, LimitReader, WARCParser } from 'warcio';
import { CaptureFileTooLargeError, DamagedCaptureFileError } from '../capture.ts';

/** One record of a WARC file (ISO 28500). Its block must be read before the next record is requested. */
export interface WarcRecord {
  type: string;
  /** Returns the first value of a field, by its lowercase name. */
  field(name: string): string | undefined;
  /** Returns every value of a field. */
  fields(name: string): string[];
  /** Where the record begins in the decompressed bytes. */
  start: number;
  /** The stated length of the block. */
  length: number;
  /** Throws DamagedCaptureFileError if it is cut short. Unread bytes are skipped. */
  block: AsyncIterable<Uint8Array>;
}

/** Limit on the named fields of a record; warcio may search all of them for a colon once for each line. */
const MAX_HEAD_BYTES = 524_288;
const RECORD_END = '\r\n\r\n';
/** warcio misses the end of a record's fields if it is split over pieces of a few bytes. */
const MIN_PIECE_BYTES = 4_096;
const VERSION = /^WARC\/(0\.1[78]|1\.0|1\.1)$/;

/**
 * Yields the records of a WARC file. warcio reads framing and fields, but its decompression and HTTP parsing are not
 * used: it inflates a whole chunk at once, searches for the end of a head without limit, and reads into the next record
 * if a head has no fields.
 *
 * @param bytes the decompressed file. @param maxBytes limit on its size.
 * @param progress where the last record begins of which any byte was read; updated while reading.
 * @throws DamagedCaptureFileError, CaptureFileTooLargeError; whatever `bytes` throws.
 */
export async function* readWarc(
  bytes: AsyncIterable<Uint8Array>,
  maxBytes: number,
  progress = { start: 0 },
): AsyncGenerator<WarcRecord, void, undefined> {
  const metered = new Metered(inPieces(bytes), maxBytes);
  const reader = new AsyncIterReader(metered, null);
  const parser = new WARCParser(reader, { keepHeadersCase: true, parseHttp: false });
  for (;;) {
    const start = reader.getReadOffset();
    metered.beginHead();
    const record = await parser.parse().finally(() => {
      if (metered.read > start) progress.start = start;
    });
    metered.endHead();
    if (!record) return;
    const { statusline, headers } = record.warcHeaders;
    if (!VERSION.test(statusline))
      throw new DamagedCaptureFileError('A record does not begin with a WARC version.');
    const fields = [...headers].map(([name, value]) => [name.toLowerCase(), value] as const);
    const field = (name: string) => fields.find(([known]) => known === name)?.[1];
    const length = field('content-length') ?? '';
    if (!/^\d{1,15}$/.test(length)) throw new DamagedCaptureFileError('A record does not state its length.');
    const block = new Block(record.reader as LimitReader, Number(length));
    yield {
      type: (field('warc-type') ?? '').toLowerCase(),
      field,
      fields: (name) => fields.filter(([known]) => known === name).map(([, value]) => value),
      start,
      length: Number(length),
      block,
    };
    await block.skip();
    await requireEnd(reader);
  }
}

/** A record that ends elsewhere is corrupt. A record of which only the last bytes are missing is still valid. */
async function requireEnd(reader: AsyncIterReader): Promise<void> {
  const end = Buffer.from(await reader.readSize(RECORD_END.length)).toString('latin1');
  if (end !== RECORD_END)
    throw new DamagedCaptureFileError('A record does not end at its stated length.', {
      invalidatesLast: !RECORD_END.startsWith(end),
    });
}

/** Joins pieces that are too small, except the last one. Bytes before an error are yielded before it is thrown. */
async function* inPieces(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  let held: Uint8Array[] = [];
  let size = 0;
  let failure: { error: unknown } | undefined;
  try {
    for await (const chunk of bytes) {
      held.push(chunk);
      size += chunk.length;
      if (size < MIN_PIECE_BYTES) continue;
      yield held.length === 1 ? chunk : Buffer.concat(held, size);
      held = [];
      size = 0;
    }
  } catch (error) {
    failure = { error };
  }
  if (size > 0) yield Buffer.concat(held, size);
  if (failure) throw failure.error;
}

class Block implements AsyncIterable<Uint8Array> {
  readonly #reader: LimitReader;
  #left: number;

  constructor(reader: LimitReader, length: number) {
    this.#reader = reader;
    this.#left = length;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    if (this.#left === 0) return;
    for await (const chunk of this.#reader) {
      this.#left -= chunk.length;
      yield chunk;
      if (this.#left === 0) return;
    }
    throw new DamagedCaptureFileError('A record is cut short.');
  }

  async skip(): Promise<void> {
    for await (const chunk of this) void chunk;
  }
}

/** Limits the bytes read: in total, and for the head of each record. */
class Metered implements AsyncIterable<Uint8Array> {
  readonly #bytes: AsyncIterable<Uint8Array>;
  readonly #maxBytes: number;
  #left: number;
  #headLeft = Number.POSITIVE_INFINITY;
  /** The number of bytes read. */
  read = 0;

  constructor(bytes: AsyncIterable<Uint8Array>, maxBytes: number) {
    this.#bytes = bytes;
    this.#maxBytes = maxBytes;
    this.#left = maxBytes;
  }

  beginHead(): void {
    this.#headLeft = MAX_HEAD_BYTES;
  }

  endHead(): void {
    this.#headLeft = Number.POSITIVE_INFINITY;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const chunk of this.#bytes) {
      this.read += chunk.length;
      this.#left -= chunk.length;
      this.#headLeft -= chunk.length;
      if (this.#left < 0) throw new CaptureFileTooLargeError(this.#maxBytes);
      if (this.#headLeft < 0) throw new DamagedCaptureFileError('The fields of a record have no end.');
      yield chunk;
    }
  }
}
