import { crc32 } from 'node:zlib';
import { ChangedFileError } from './writeZip.ts';
import {
  CENTRAL_RECORD_BYTES,
  centralRecord,
  endRecords,
  FIRST_DAY,
  type Header,
  LOCAL_HEADER_BYTES,
  localHeader,
  UINT32_MAX,
} from './zipRecords.ts';

interface ByteRange {
  start: number;
  end: number;
}

/** The files of a large ZIP, by their positions. */
interface ZipFiles {
  count: number;
  nameOf(file: number): string;
  /** The length of the name in UTF-8. */
  nameBytesOf(file: number): number;
  bytesOf(file: number): number;
  /** Returns the CRC-32 of a file, and may read it for that. */
  crcOf(file: number): Promise<number>;
  /** Reads bytes of a file. */
  read(file: number, range: ByteRange): AsyncIterable<Uint8Array>;
}

/** The extra fields with the two sizes of a file, and with its offset, in 64 bits. */
const SIZES_64_BYTES = 4 + 16;
const OFFSET_BYTES = 8;
/** The records of the central directory that are written at once. */
const RECORDS_AT_ONCE = 256;

/**
 * A ZIP whose layout is known before any file is read, with any number of files of any size (ZIP64). Its bytes depend
 * only on its files: nothing is compressed, and each entry has the date 1980-01-01 and the mode 0644, as in `storedZip`.
 * Memory grows by a few bytes for each file.
 */
export class ZipLayout {
  readonly bytes: number;
  readonly #files: ZipFiles;
  /** Where the local header of each file is, and where the central directory is. */
  readonly #starts: Float64Array;
  readonly #directoryBytes: number;
  readonly #end: Buffer;

  constructor(files: ZipFiles) {
    this.#files = files;
    this.#starts = new Float64Array(files.count + 1);
    let offset = 0;
    let directory = 0;
    for (let file = 0; file < files.count; file += 1) {
      this.#starts[file] = offset;
      directory += this.#recordBytes(file, offset);
      offset += this.#headerBytes(file) + files.bytesOf(file);
    }
    this.#starts[files.count] = offset;
    this.#directoryBytes = directory;
    this.#end = endRecords(files.count, directory, offset);
    this.bytes = offset + directory + this.#end.length;
  }

  /** Returns the first and the last file of which a range has bytes of the data; undefined if it has none of any. */
  filesIn({ start, end }: ByteRange): { first: number; last: number } | undefined {
    const { count } = this.#files;
    const directory = this.#starts[count] ?? 0;
    if (count === 0 || start >= directory) return undefined;
    return { first: this.#fileAt(start), last: this.#fileAt(Math.min(end, directory - 1)) };
  }

  /**
   * Reads a range, or all bytes.
   *
   * @throws ChangedFileError if a file has another size or CRC; the errors of the files
   */
  async *read({ start, end }: ByteRange = { start: 0, end: this.bytes - 1 }): AsyncGenerator<Uint8Array> {
    const { count } = this.#files;
    const directory = this.#starts[count] ?? 0;
    const files = this.filesIn({ start, end });
    for (let file = files?.first ?? 0; files && file <= files.last; file += 1)
      yield* this.#readFile(file, { start, end });
    let position = directory;
    if (end >= directory)
      for (let from = 0; from < count; from += RECORDS_AT_ONCE) {
        const length = this.#recordsBytes(from, Math.min(count, from + RECORDS_AT_ONCE));
        if (start < position + length && end >= position) {
          const records = await this.#records(from, Math.min(count, from + RECORDS_AT_ONCE));
          yield within(records, position, { start, end });
        }
        position += length;
      }
    const last = within(this.#end, directory + this.#directoryBytes, { start, end });
    if (last.length > 0) yield last;
  }

  async *#readFile(file: number, { start, end }: ByteRange): AsyncGenerator<Uint8Array> {
    const at = this.#starts[file] ?? 0;
    const data = at + this.#headerBytes(file);
    if (start < data) yield within(localHeader(await this.#header(file)), at, { start, end });
    const bytes = this.#files.bytesOf(file);
    const range = { start: Math.max(start - data, 0), end: Math.min(end - data, bytes - 1) };
    if (range.start <= range.end) yield* this.#readData(file, range);
  }

  async *#readData(file: number, range: ByteRange): AsyncGenerator<Uint8Array> {
    let missing = range.end - range.start + 1;
    const isWhole = missing === this.#files.bytesOf(file);
    let crc = 0;
    for await (const chunk of this.#files.read(file, range)) {
      missing -= chunk.length;
      if (isWhole) crc = crc32(chunk, crc);
      if (missing < 0) break;
      yield chunk;
    }
    if (missing !== 0 || (isWhole && crc !== (await this.#files.crcOf(file)))) throw new ChangedFileError();
  }

  async #records(from: number, to: number): Promise<Buffer> {
    const records: Buffer[] = [];
    for (let file = from; file < to; file += 1) records.push(centralRecord(await this.#header(file)));
    return Buffer.concat(records);
  }

  async #header(file: number): Promise<Header> {
    const bytes = this.#files.bytesOf(file);
    return {
      name: Buffer.from(this.#files.nameOf(file)),
      isFolder: false,
      isCompressed: false,
      time: FIRST_DAY,
      offset: this.#starts[file] ?? 0,
      isDeferred: false,
      isLarge: bytes >= UINT32_MAX,
      crc: await this.#files.crcOf(file),
      compressed: bytes,
      uncompressed: bytes,
    };
  }

  #headerBytes(file: number): number {
    const isLarge = this.#files.bytesOf(file) >= UINT32_MAX;
    return LOCAL_HEADER_BYTES + this.#files.nameBytesOf(file) + (isLarge ? SIZES_64_BYTES : 0);
  }

  #recordBytes(file: number, offset: number): number {
    const isLarge = this.#files.bytesOf(file) >= UINT32_MAX;
    const extra = (isLarge ? 16 : 0) + (offset >= UINT32_MAX ? OFFSET_BYTES : 0);
    return CENTRAL_RECORD_BYTES + this.#files.nameBytesOf(file) + (extra > 0 ? 4 + extra : 0);
  }

  #recordsBytes(from: number, to: number): number {
    let bytes = 0;
    for (let file = from; file < to; file += 1) bytes += this.#recordBytes(file, this.#starts[file] ?? 0);
    return bytes;
  }

  /** Returns the file that has the byte at this position, with its local header. */
  #fileAt(position: number): number {
    let [low, high] = [0, this.#files.count - 1];
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((this.#starts[middle] ?? 0) <= position) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/** Returns those of the bytes at `position` that are in a range. */
function within(bytes: Buffer, position: number, { start, end }: ByteRange): Buffer {
  return bytes.subarray(Math.max(start - position, 0), Math.max(end - position + 1, 0));
}
