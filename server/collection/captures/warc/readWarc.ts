import { ByteSource, TruncatedBodyError } from '../../fetch/httpMessage.ts';
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

/** Limit on the named fields of a record. */
const MAX_HEAD_BYTES = 524_288;
const RECORD_END = '\r\n\r\n';
const VERSION = /^WARC\/(0\.1[78]|1\.0|1\.1)[ \t]*\r?\n$/;
/** The first line of an ARC file, the format that WARC has replaced. */
const ARC_VERSION = /^filedesc:\/\//;

/**
 * Yields the records of a WARC file.
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
  const source = new ByteSource(limited(bytes, maxBytes));
  for (;;) {
    const start = source.offset;
    const text = await readFields(source).finally(() => {
      if (source.offset > start || source.hasMore) progress.start = start;
    });
    if (text === undefined) return;
    const fields = parseFields(text);
    const field = (name: string) => fields.find(([known]) => known === name)?.[1];
    const length = field('content-length') ?? '';
    if (!/^\d{1,15}$/.test(length)) throw new DamagedCaptureFileError('A record does not state its length.');
    const block = new Block(source, Number(length));
    yield {
      type: (field('warc-type') ?? '').toLowerCase(),
      field,
      fields: (name) => fields.filter(([known]) => known === name).map(([, value]) => value),
      start,
      length: Number(length),
      block,
    };
    await block.skip();
    await requireEnd(source);
  }
}

async function* limited(
  bytes: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  let left = maxBytes;
  for await (const chunk of bytes) {
    left -= chunk.length;
    if (left < 0) throw new CaptureFileTooLargeError(maxBytes);
    yield chunk;
  }
}

/** Returns the lines behind the version up to the first empty one; undefined at the end of the file. */
async function readFields(source: ByteSource): Promise<string | undefined> {
  const begin = source.offset;
  let hasVersion = false;
  const lines: string[] = [];
  for (;;) {
    const line = (await source.line(MAX_HEAD_BYTES)).toString('utf8');
    if (source.offset - begin >= MAX_HEAD_BYTES)
      throw new DamagedCaptureFileError('The fields of a record have no end.');
    const isEmpty = line === '\r\n' || line === '\n';
    if (!hasVersion && line === '') return undefined;
    if (!hasVersion && isEmpty) continue;
    if (!hasVersion && !VERSION.test(line)) throw noVersion(line, begin);
    if (hasVersion && line === '') throw new DamagedCaptureFileError('A record is cut short.');
    if (hasVersion && isEmpty) return lines.join('');
    if (hasVersion) lines.push(line);
    hasVersion = true;
  }
}

function noVersion(line: string, start: number): DamagedCaptureFileError {
  return new DamagedCaptureFileError(
    start === 0 && ARC_VERSION.test(line)
      ? 'It is an ARC file, the format before WARC. Convert it to WARC first, for example with “warcio recompress”.'
      : 'A record does not begin with a WARC version.',
  );
}

/** Returns names in lower case and values. A line that begins with a blank continues the one before (ISO 28500, section 4). */
function parseFields(text: string): [string, string][] {
  const fields: [string, string][] = [];
  for (const line of text.replace(/\r?\n[ \t]+/g, ' ').split(/\r?\n/)) {
    const colon = line.indexOf(':');
    if (colon > 0) fields.push([line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()]);
  }
  return fields;
}

/** A record that ends elsewhere is corrupt. A record of which only the last bytes are missing is still valid. */
async function requireEnd(source: ByteSource): Promise<void> {
  let end = '';
  try {
    for await (const piece of source.take(RECORD_END.length)) end += piece.toString('latin1');
  } catch (error) {
    if (!(error instanceof TruncatedBodyError)) throw error;
  }
  if (end !== RECORD_END)
    throw new DamagedCaptureFileError('A record does not end at its stated length.', {
      invalidatesLast: !RECORD_END.startsWith(end),
    });
}

class Block implements AsyncIterable<Uint8Array> {
  readonly #chunks: AsyncGenerator<Uint8Array, void, undefined>;

  constructor(source: ByteSource, length: number) {
    this.#chunks = source.take(length);
  }

  /** An iteration that is broken off can be continued. */
  [Symbol.asyncIterator](): AsyncIterator<Uint8Array, void, undefined> {
    return { next: () => this.#next() };
  }

  async #next(): Promise<IteratorResult<Uint8Array, void>> {
    try {
      return await this.#chunks.next();
    } catch (error) {
      throw error instanceof TruncatedBodyError
        ? new DamagedCaptureFileError('A record is cut short.', { cause: error })
        : error;
    }
  }

  async skip(): Promise<void> {
    for await (const chunk of this) void chunk;
  }
}
