import { AsyncIterReader, LimitReader, WARCParser } from 'warcio';
import { CaptureFileTooLargeError, DamagedCaptureFileError } from './damage.ts';

/** One record of a WARC file (ISO 28500): its named fields, and its block to be read before the next is asked for. */
export interface WarcRecord {
  type: string;
  /** The first value of a field, by its lowercase name. */
  field(name: string): string | undefined;
  /** Every value of a field. */
  fields(name: string): string[];
  /** How long the block is said to be. */
  length: number;
  /** The block; throws DamagedCaptureFileError where it is cut short. What is left unread is skipped. */
  block: AsyncIterable<Uint8Array>;
}

/** A record's named fields are no longer than this; warcio may search all of them for a colon once for each line. */
const MAX_HEAD_BYTES = 524_288;
const RECORD_END = '\r\n\r\n';
/** warcio misses the end of a record's fields where it is split over pieces of a few bytes. */
const LEAST_PIECE_BYTES = 4_096;
const VERSION = /^WARC\/(0\.1[78]|1\.0|1\.1)$/;

/**
 * The records of a WARC file, one at a time. Framing and fields are read by warcio, which is told neither to unpack nor
 * to read HTTP: it inflates a whole chunk at once, looks for the end of a head without bound, and reads on into the
 * next record where a head has no fields.
 *
 * @param bytes the file, unpacked. @param maxBytes how much of it is taken.
 * @throws DamagedCaptureFileError, CaptureFileTooLargeError; whatever `bytes` throws.
 */
export async function* readWarc(
  bytes: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<WarcRecord, void, undefined> {
  const metered = new Metered(inPieces(bytes), maxBytes);
  const reader = new AsyncIterReader(metered, null);
  const parser = new WARCParser(reader, { keepHeadersCase: true, parseHttp: false });
  for (;;) {
    metered.beginHead();
    const record = await parser.parse();
    metered.endHead();
    if (!record) return;
    const { statusline, headers } = record.warcHeaders;
    if (!VERSION.test(statusline))
      throw new DamagedCaptureFileError('A record does not begin with its WARC version.');
    const fields = [...headers].map(([name, value]) => [name.toLowerCase(), value] as const);
    const field = (name: string) => fields.find(([known]) => known === name)?.[1];
    const length = field('content-length') ?? '';
    if (!/^\d{1,15}$/.test(length))
      throw new DamagedCaptureFileError('A record does not say how long it is.');
    const block = new Block(record.reader as LimitReader, Number(length));
    yield {
      type: (field('warc-type') ?? '').toLowerCase(),
      field,
      fields: (name) => fields.filter(([known]) => known === name).map(([, value]) => value),
      length: Number(length),
      block,
    };
    await block.skip();
    await requireEnd(reader);
  }
}

/** A record whose end is somewhere else is not the one that was written; one that only lacks its last bytes is. */
async function requireEnd(reader: AsyncIterReader): Promise<void> {
  const end = Buffer.from(await reader.readSize(RECORD_END.length)).toString('latin1');
  if (end !== RECORD_END)
    throw new DamagedCaptureFileError('A record does not end where it says.', {
      spoilsLast: !RECORD_END.startsWith(end),
    });
}

/** The same bytes in pieces that are not too small, but for the last one; what came before an error comes first. */
async function* inPieces(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  let held: Uint8Array[] = [];
  let size = 0;
  let failure: { error: unknown } | undefined;
  try {
    for await (const chunk of bytes) {
      held.push(chunk);
      size += chunk.length;
      if (size < LEAST_PIECE_BYTES) continue;
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

/** The block of a record. */
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

/** Counts what is taken: in all, and while the end of a head is searched for. */
class Metered implements AsyncIterable<Uint8Array> {
  readonly #bytes: AsyncIterable<Uint8Array>;
  readonly #maxBytes: number;
  #left: number;
  #headLeft = Number.POSITIVE_INFINITY;

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
      this.#left -= chunk.length;
      this.#headLeft -= chunk.length;
      if (this.#left < 0) throw new CaptureFileTooLargeError(this.#maxBytes);
      if (this.#headLeft < 0) throw new DamagedCaptureFileError('A record has no end of its fields.');
      yield chunk;
    }
  }
}
