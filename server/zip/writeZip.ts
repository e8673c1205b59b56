import { type FileHandle, open } from 'node:fs/promises';
import { pipeline, Readable } from 'node:stream';
import { crc32, createDeflateRaw } from 'node:zlib';
import {
  CENTRAL_RECORD_BYTES,
  centralRecord,
  descriptor,
  END_RECORD_BYTES,
  endRecords,
  FIRST_DAY,
  type Header,
  LOCAL_HEADER_BYTES,
  localHeader,
  type Sizes,
  timeFields,
  UINT32_MAX,
} from './zipRecords.ts';

/** Bytes from `start` to `end`, both inclusive. */
export interface ByteRange {
  start: number;
  end: number;
}

/** A part of a ZIP: a folder, or a file whose size and CRC are known in advance. */
type ZipPart =
  | { name: string; folder: true }
  | { name: string; bytes: number; crc: number; read: (range: ByteRange) => AsyncIterable<Uint8Array> };

/** A ZIP whose layout is known before any file is read. */
export interface StoredZip {
  bytes: number;
  /**
   * Reads a range, or all bytes. Only the files in the range are read.
   *
   * @throws ChangedFileError if a file has another size or CRC.
   */
  read(range?: ByteRange): AsyncGenerator<Uint8Array>;
  /** Returns the files of which a range has bytes, as indexes of the parts. */
  partsIn(range: ByteRange): number[];
}

/** A file has another size or CRC than the ZIP states. */
export class ChangedFileError extends Error {
  constructor() {
    super('A file changed while it was being packed.');
    this.name = 'ChangedFileError';
  }
}

/** Returns the size of the ZIP that `storedZip` returns. */
export function storedZipBytes(parts: Iterable<{ name: string; bytes?: number }>): number {
  let total = END_RECORD_BYTES;
  for (const { name, bytes = 0 } of parts) {
    total += LOCAL_HEADER_BYTES + CENTRAL_RECORD_BYTES + 2 * Buffer.byteLength(name) + bytes;
  }
  return total;
}

/** Bytes in memory, or a file. */
type Segment = Buffer | Extract<ZipPart, { bytes: number }>;

/**
 * Returns a ZIP whose bytes depend only on its parts (APPNOTE.TXT 6.3, without ZIP64). Nothing is compressed, because
 * versions of zlib produce different output. Each entry has the date 1980-01-01 and mode 0644, and no extra fields. Size
 * and CRC are in the local header, because some readers (Java's ZipInputStream, 7-Zip 9) do not support them after the
 * data of uncompressed entries.
 */
export function storedZip(parts: readonly ZipPart[]): StoredZip {
  const segments: { start: number; bytes: number; content: Segment; part: number }[] = [];
  let bytes = 0;
  const add = (content: Segment, part: number) => {
    const length = Buffer.isBuffer(content) ? content.length : content.bytes;
    segments.push({ start: bytes, bytes: length, content, part });
    bytes += length;
  };
  const records = parts.map((part, index) => {
    const header = storedHeader(part, bytes);
    add(localHeader(header), index);
    if (!('folder' in part)) add(part, index);
    return centralRecord(header);
  });
  const directory = Buffer.concat(records);
  add(Buffer.concat([directory, endRecords(parts.length, directory.length, bytes)]), parts.length);
  return {
    bytes,
    async *read({ start, end } = { start: 0, end: bytes - 1 }) {
      for (const segment of segments) {
        const from = Math.max(start - segment.start, 0);
        const to = Math.min(end - segment.start, segment.bytes - 1);
        if (from > to) continue;
        if (Buffer.isBuffer(segment.content)) yield segment.content.subarray(from, to + 1);
        else yield* checked(segment.content, { start: from, end: to });
      }
    },
    partsIn: ({ start, end }) =>
      segments
        .filter(
          (segment) =>
            !Buffer.isBuffer(segment.content) &&
            segment.start <= end &&
            segment.start + segment.bytes > start,
        )
        .map(({ part }) => part),
  };
}

/** Reads bytes of a file. @throws ChangedFileError if there are fewer or more, or if the whole file has another CRC */
async function* checked({ bytes, crc, read }: Extract<ZipPart, { bytes: number }>, range: ByteRange) {
  let missing = range.end - range.start + 1;
  const isWhole = missing === bytes;
  let actual = 0;
  for await (const chunk of read(range)) {
    missing -= chunk.length;
    if (isWhole) actual = crc32(chunk, actual);
    if (missing < 0) break;
    yield chunk;
  }
  if (missing !== 0 || (isWhole && actual !== crc)) throw new ChangedFileError();
}

function storedHeader(part: ZipPart, offset: number): Header {
  const { crc, bytes } = 'folder' in part ? { crc: 0, bytes: 0 } : part;
  return {
    name: Buffer.from(part.name),
    isFolder: 'folder' in part,
    isCompressed: false,
    time: FIRST_DAY,
    offset,
    isDeferred: false,
    isLarge: false,
    crc,
    compressed: bytes,
    uncompressed: bytes,
  };
}

/** A file of a ZIP that is written while it is read. */
export interface StreamedFile {
  name: string;
  /** The size of the file or an upper bound, so that files of 4 GB and more get fields of 64 bits. */
  bytes: number;
  isCompressed: boolean;
  read: () => AsyncIterable<Uint8Array>;
}

/** The bytes of the central directory that are collected before they are written to its file. */
const DIRECTORY_PIECE = 65_536;

/**
 * Yields a ZIP with these files (APPNOTE.TXT 6.3). Each is read when its turn comes. Memory grows neither with the size of
 * the files nor, with a working file for the central directory, with their number. The caller deletes that file.
 */
export async function* streamedZip(
  files: AsyncIterable<StreamedFile> | Iterable<StreamedFile>,
  { directoryFile, modified }: { directoryFile?: string; modified: Date },
): AsyncGenerator<Buffer> {
  const directory = new Directory(
    directoryFile === undefined ? undefined : await open(directoryFile, 'w+', 0o600),
  );
  const time = timeFields(modified);
  let written = 0;
  try {
    for await (const file of files) {
      const entry: Header = {
        name: Buffer.from(file.name),
        isFolder: false,
        isCompressed: file.isCompressed,
        time,
        offset: written,
        isDeferred: true,
        isLarge: isLarge(file.bytes),
        crc: 0,
        compressed: 0,
        uncompressed: 0,
      };
      const before = localHeader(entry);
      yield before;
      yield* fileData(file, entry);
      const after = descriptor(entry);
      yield after;
      await directory.add(centralRecord(entry));
      written += before.length + entry.compressed + after.length;
    }
    yield* directory.read();
    yield endRecords(directory.records, directory.bytes, written);
  } finally {
    await directory.close();
  }
}

function isLarge(bytes: number): boolean {
  // Deflated data can be a little longer than the file.
  return bytes > UINT32_MAX * 0.99;
}

/** Yields the data of a file as the ZIP holds it, and adds up its sizes. */
async function* fileData(file: StreamedFile, sizes: Sizes): AsyncGenerator<Buffer> {
  const plain = async function* () {
    for await (const chunk of file.read()) {
      sizes.crc = crc32(chunk, sizes.crc);
      sizes.uncompressed += chunk.length;
      yield chunk;
    }
  };
  const data = file.isCompressed
    ? // An error in the file ends the deflated stream with it.
      pipeline(Readable.from(plain(), { objectMode: false }), createDeflateRaw(), () => undefined)
    : plain();
  for await (const chunk of data as AsyncIterable<Buffer>) {
    sizes.compressed += chunk.length;
    yield chunk;
  }
  if (Math.max(sizes.compressed, sizes.uncompressed) > UINT32_MAX && !isLarge(file.bytes))
    throw new Error(`${file.name} is larger than it was said to be.`);
}

/** The records of the central directory, in memory or in a file until all of them are there. */
class Directory {
  readonly #handle: FileHandle | undefined;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  records = 0;
  bytes = 0;

  constructor(handle: FileHandle | undefined) {
    this.#handle = handle;
  }

  async add(record: Buffer): Promise<void> {
    this.records += 1;
    this.bytes += record.length;
    this.#pendingBytes += record.length;
    this.#pending.push(record);
    if (!this.#handle || this.#pendingBytes < DIRECTORY_PIECE) return;
    await this.#handle.appendFile(Buffer.concat(this.#pending));
    [this.#pending, this.#pendingBytes] = [[], 0];
  }

  async *read(): AsyncGenerator<Buffer> {
    if (this.#handle)
      yield* this.#handle.createReadStream({ start: 0, autoClose: false }) as AsyncIterable<Buffer>;
    if (this.#pending.length > 0) yield Buffer.concat(this.#pending);
  }

  async close(): Promise<void> {
    await this.#handle?.close();
  }
}
