import { type FileHandle, open } from 'node:fs/promises';
import { pipeline, Readable } from 'node:stream';
import { crc32, createDeflateRaw } from 'node:zlib';

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

/** The fixed lengths of a local header, a central directory record and the end record. */
const LOCAL_HEADER_BYTES = 30;
const CENTRAL_RECORD_BYTES = 46;
const END_RECORD_BYTES = 22;

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

/** 1980-01-01, the first day of the format. */
const FIRST_DAY = Buffer.from([0, 0, (1 << 5) | 1, 0]);

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

interface Sizes {
  crc: number;
  compressed: number;
  uncompressed: number;
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

/** The date and time of a file, in the format of MS-DOS. */
function timeFields(modified: Date): Buffer {
  const fields = Buffer.alloc(4);
  const seconds = Math.floor(modified.getUTCSeconds() / 2);
  fields.writeUInt16LE((modified.getUTCHours() << 11) | (modified.getUTCMinutes() << 5) | seconds, 0);
  const year = Math.max(0, modified.getUTCFullYear() - 1980);
  fields.writeUInt16LE((year << 9) | ((modified.getUTCMonth() + 1) << 5) | modified.getUTCDate(), 2);
  return fields;
}

/** What the local header and the central record of an entry say. */
interface Header extends Sizes {
  name: Buffer;
  isFolder: boolean;
  isCompressed: boolean;
  time: Buffer;
  /** Where the local header is. */
  offset: number;
  /** Whether the size and the CRC follow the data, in a descriptor. */
  isDeferred: boolean;
  /** Whether the sizes have 64 bits. */
  isLarge: boolean;
}

const UINT16_MAX = 0xffff;
const UINT32_MAX = 0xffff_ffff;
const LOCAL_HEADER = 0x04034b50;
const DESCRIPTOR = 0x08074b50;
const CENTRAL_RECORD = 0x02014b50;
const END_RECORD_64 = 0x06064b50;
const LOCATOR_64 = 0x07064b50;
const END_RECORD = 0x06054b50;
const UTF8_NAME = 0x0800;
const SIZES_AFTER_DATA = 0x0008;
const DEFLATED = 8;
/** The versions of the format that plain files and files with 64-bit fields need. */
const PLAIN = 20;
const WITH_64_BITS = 45;
/** Made by version 6.3 on Unix. */
const MADE_BY = (3 << 8) | 63;
const FILE_MODE = 0o100644;
const FOLDER_MODE = 0o40755;
const FIELD_64 = 0x0001;

/** The fields that both headers have, from the version needed to extract to the length of the name. */
function commonFields(
  { name, isDeferred, isCompressed, time, crc, compressed, uncompressed }: Header,
  version: number,
) {
  const fields = Buffer.alloc(26);
  fields.writeUInt16LE(version, 0);
  fields.writeUInt16LE(UTF8_NAME | (isDeferred ? SIZES_AFTER_DATA : 0), 2);
  fields.writeUInt16LE(isCompressed ? DEFLATED : 0, 4);
  time.copy(fields, 6);
  fields.writeUInt32LE(crc, 10);
  fields.writeUInt32LE(Math.min(compressed, UINT32_MAX), 14);
  fields.writeUInt32LE(Math.min(uncompressed, UINT32_MAX), 18);
  fields.writeUInt16LE(name.length, 22);
  return fields;
}

function localHeader(header: Header): Buffer {
  const sizes = { crc: 0, compressed: 0, uncompressed: 0 };
  if (header.isLarge) sizes.compressed = sizes.uncompressed = UINT32_MAX;
  const known = header.isDeferred ? { ...header, ...sizes } : header;
  const extra = header.isLarge ? field64(0, 0) : Buffer.alloc(0);
  const fields = commonFields(known, header.isLarge ? WITH_64_BITS : PLAIN);
  fields.writeUInt16LE(extra.length, 24);
  return Buffer.concat([signed(LOCAL_HEADER), fields, header.name, extra]);
}

/** The size and the CRC of a file, after its data. */
function descriptor({ crc, compressed, uncompressed, isLarge }: Header): Buffer {
  const fields = Buffer.alloc(isLarge ? 20 : 12);
  fields.writeUInt32LE(crc, 0);
  if (isLarge) {
    fields.writeBigUInt64LE(BigInt(compressed), 4);
    fields.writeBigUInt64LE(BigInt(uncompressed), 12);
  } else {
    fields.writeUInt32LE(compressed, 4);
    fields.writeUInt32LE(uncompressed, 8);
  }
  return Buffer.concat([signed(DESCRIPTOR), fields]);
}

function centralRecord(header: Header): Buffer {
  const { name, isFolder, isLarge, offset, compressed, uncompressed } = header;
  const large = [uncompressed, compressed, offset].filter((number) => number >= UINT32_MAX);
  const extra = field64(...large);
  const fields = commonFields(header, extra.length > 0 || isLarge ? WITH_64_BITS : PLAIN);
  fields.writeUInt16LE(extra.length, 24);
  const rest = Buffer.alloc(14);
  rest.writeUInt32LE(((isFolder ? FOLDER_MODE : FILE_MODE) << 16) >>> 0, 6);
  rest.writeUInt32LE(Math.min(offset, UINT32_MAX), 10);
  return Buffer.concat([
    signed(CENTRAL_RECORD),
    Buffer.from([MADE_BY & 0xff, MADE_BY >> 8]),
    fields,
    rest,
    name,
    extra,
  ]);
}

function signed(signature: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(signature);
  return bytes;
}

/** The extra field for numbers of 64 bits; empty without numbers. */
function field64(...numbers: number[]): Buffer {
  if (numbers.length === 0) return Buffer.alloc(0);
  const field = Buffer.alloc(4 + numbers.length * 8);
  field.writeUInt16LE(FIELD_64, 0);
  field.writeUInt16LE(numbers.length * 8, 2);
  for (const [index, number] of numbers.entries()) field.writeBigUInt64LE(BigInt(number), 4 + index * 8);
  return field;
}

/** The end of a ZIP. Numbers that do not fit are in a record of 64 bits before it. */
function endRecords(entries: number, bytes: number, start: number): Buffer {
  const end = Buffer.alloc(18);
  end.writeUInt16LE(Math.min(entries, UINT16_MAX), 4);
  end.writeUInt16LE(Math.min(entries, UINT16_MAX), 6);
  end.writeUInt32LE(Math.min(bytes, UINT32_MAX), 8);
  end.writeUInt32LE(Math.min(start, UINT32_MAX), 12);
  const plain = [signed(END_RECORD), end];
  if (entries < UINT16_MAX && bytes < UINT32_MAX && start < UINT32_MAX) return Buffer.concat(plain);
  const end64 = Buffer.alloc(52);
  end64.writeBigUInt64LE(BigInt(44), 0);
  end64.writeUInt16LE(MADE_BY, 8);
  end64.writeUInt16LE(WITH_64_BITS, 10);
  end64.writeBigUInt64LE(BigInt(entries), 20);
  end64.writeBigUInt64LE(BigInt(entries), 28);
  end64.writeBigUInt64LE(BigInt(bytes), 36);
  end64.writeBigUInt64LE(BigInt(start), 44);
  const locator = Buffer.alloc(16);
  locator.writeBigUInt64LE(BigInt(start + bytes), 4);
  locator.writeUInt32LE(1, 12);
  return Buffer.concat([signed(END_RECORD_64), end64, signed(LOCATOR_64), locator, ...plain]);
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
