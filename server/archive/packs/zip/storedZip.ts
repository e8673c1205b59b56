import { crc32 } from 'node:zlib';

/** Bytes from `start` to `end`, both inclusive. */
export interface ByteRange {
  start: number;
  end: number;
}

/** A part of a ZIP: a folder, or a file whose size and CRC are known in advance. */
export type ZipPart =
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
const LOCAL_HEADER = 30;
const CENTRAL_RECORD = 46;
const END_RECORD = 22;

/** Returns the size of the ZIP that `storedZip` returns. */
export function storedZipBytes(parts: Iterable<{ name: string; bytes?: number }>): number {
  let total = END_RECORD;
  for (const { name, bytes = 0 } of parts) {
    total += LOCAL_HEADER + CENTRAL_RECORD + 2 * Buffer.byteLength(name) + bytes;
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
    const record = centralRecord(part, bytes);
    add(localHeader(part), index);
    if (!('folder' in part)) add(part, index);
    return record;
  });
  const directory = Buffer.concat(records);
  add(Buffer.concat([directory, endRecord(parts.length, directory.length, bytes)]), parts.length);
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

/** Version 2.0 is needed to extract; names are UTF-8; nothing is compressed; the date is 1980-01-01. */
function commonFields(part: ZipPart): Buffer {
  const { crc, bytes } = 'folder' in part ? { crc: 0, bytes: 0 } : part;
  const fields = Buffer.alloc(26);
  fields.writeUInt16LE(20, 0);
  fields.writeUInt16LE(0x0800, 2);
  fields.writeUInt16LE((1 << 5) | 1, 8);
  fields.writeUInt32LE(crc, 10);
  fields.writeUInt32LE(bytes, 14);
  fields.writeUInt32LE(bytes, 18);
  fields.writeUInt16LE(Buffer.byteLength(part.name), 22);
  return fields;
}

function localHeader(part: ZipPart): Buffer {
  return Buffer.concat([Buffer.from('PK\x03\x04'), commonFields(part), Buffer.from(part.name)]);
}

function centralRecord(part: ZipPart, offset: number): Buffer {
  /** Made by version 6.3 on Unix. */
  const madeBy = Buffer.from([63, 3]);
  const fields = Buffer.alloc(14);
  fields.writeUInt32LE((('folder' in part ? 0o40755 : 0o100644) << 16) >>> 0, 6);
  fields.writeUInt32LE(offset, 10);
  return Buffer.concat([
    Buffer.from('PK\x01\x02'),
    madeBy,
    commonFields(part),
    fields,
    Buffer.from(part.name),
  ]);
}

function endRecord(entries: number, directoryBytes: number, directoryStart: number): Buffer {
  const record = Buffer.alloc(END_RECORD);
  record.write('PK\x05\x06', 'latin1');
  record.writeUInt16LE(entries, 8);
  record.writeUInt16LE(entries, 10);
  record.writeUInt32LE(directoryBytes, 12);
  record.writeUInt32LE(directoryStart, 16);
  return record;
}
