import { crc32, deflateRawSync } from 'node:zlib';

/** The fields of one of the two headers of an entry; tests can set wrong values. */
interface HeaderFields {
  name: Buffer;
  flags: number;
  method: number;
  crc: number;
  compressed: number;
  uncompressed: number;
  extra: Buffer;
}

/** An entry of a ZIP. Members that are not set have valid defaults. */
export interface BuiltEntry {
  name: string | Buffer;
  data?: string | Buffer;
  /** 0 stored, 8 deflated; other values are written as they are. */
  method?: number;
  /** Default: bit 11 (UTF-8). */
  flags?: number;
  /** Bytes that are written instead of the compressed data. */
  raw?: Buffer;
  /** The Unix mode, such as 0o120777 for a symbolic link. */
  mode?: number;
  /** “Version made by”; the upper byte is the system: 3 Unix, 0 DOS. */
  madeBy?: number;
  externalAttributes?: number;
  /** Overrides for both headers. */
  both?: Partial<HeaderFields>;
  local?: Partial<HeaderFields>;
  central?: Partial<HeaderFields>;
  /** Bytes directly before the local header. */
  before?: Buffer;
  /** Bytes after the data. */
  behind?: Buffer;
  /** The offset of the local header in the central directory. */
  offset?: number;
  /** Whether the entry is only in the central directory. */
  onlyInDirectory?: boolean;
}

export interface BuiltEnd {
  disk?: number;
  directoryDisk?: number;
  entriesHere?: number;
  entries?: number;
  directoryBytes?: number;
  directoryStart?: number;
  comment?: Buffer;
  /** Bytes between the central directory and the end record. */
  before?: Buffer;
  /** Bytes after the end record. */
  behind?: Buffer;
}

/** Builds a ZIP byte by byte, valid or not as its entries say. */
export function buildZip(entries: readonly BuiltEntry[], end: BuiltEnd = {}): Buffer {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const entry of entries) {
    const { fields, data } = fieldsOf(entry);
    const local = { ...fields, ...entry.both, ...entry.local };
    const before = entry.before ?? Buffer.alloc(0);
    const behind = entry.behind ?? Buffer.alloc(0);
    directory.push(
      centralRecord(entry, { ...fields, ...entry.both, ...entry.central }, offset + before.length),
    );
    if (entry.onlyInDirectory) continue;
    const written = Buffer.concat([before, localHeader(local), data, behind]);
    files.push(written);
    offset += written.length;
  }
  const records = Buffer.concat(directory);
  return Buffer.concat([...files, records, endRecord(end, entries.length, records.length, offset)]);
}

function fieldsOf(entry: BuiltEntry): { fields: HeaderFields; data: Buffer } {
  const bytes = Buffer.from(entry.data ?? '');
  const method = entry.method ?? 0;
  const data = entry.raw ?? (method === 8 ? deflateRawSync(bytes) : bytes);
  const fields = {
    name: Buffer.from(entry.name),
    flags: entry.flags ?? 0x0800,
    method,
    crc: crc32(bytes),
    compressed: data.length,
    uncompressed: bytes.length,
    extra: Buffer.alloc(0),
  };
  return { fields, data };
}

function localHeader({ name, flags, method, crc, compressed, uncompressed, extra }: HeaderFields): Buffer {
  const header = Buffer.alloc(30);
  header.writeUInt32LE(0x04034b50, 0);
  header.writeUInt16LE(20, 4);
  header.writeUInt16LE(flags, 6);
  header.writeUInt16LE(method, 8);
  header.writeUInt16LE(33, 12);
  header.writeUInt32LE(crc, 14);
  header.writeUInt32LE(compressed, 18);
  header.writeUInt32LE(uncompressed, 22);
  header.writeUInt16LE(name.length, 26);
  header.writeUInt16LE(extra.length, 28);
  return Buffer.concat([header, name, extra]);
}

function centralRecord(entry: BuiltEntry, fields: HeaderFields, offset: number): Buffer {
  const { name, flags, method, crc, compressed, uncompressed, extra } = fields;
  const record = Buffer.alloc(46);
  const isFolder = name.at(-1) === 0x2f;
  const mode = entry.mode ?? (isFolder ? 0o40755 : 0o100644);
  record.writeUInt32LE(0x02014b50, 0);
  record.writeUInt16LE(entry.madeBy ?? 0x031e, 4);
  record.writeUInt16LE(20, 6);
  record.writeUInt16LE(flags, 8);
  record.writeUInt16LE(method, 10);
  record.writeUInt16LE(33, 14);
  record.writeUInt32LE(crc, 16);
  record.writeUInt32LE(compressed, 20);
  record.writeUInt32LE(uncompressed, 24);
  record.writeUInt16LE(name.length, 28);
  record.writeUInt16LE(extra.length, 30);
  record.writeUInt32LE(entry.externalAttributes ?? (mode << 16) >>> 0, 38);
  record.writeUInt32LE(entry.offset ?? offset, 42);
  return Buffer.concat([record, name, extra]);
}

function endRecord(end: BuiltEnd, entries: number, directoryBytes: number, directoryStart: number): Buffer {
  const comment = end.comment ?? Buffer.alloc(0);
  const record = Buffer.alloc(22);
  record.writeUInt32LE(0x06054b50, 0);
  record.writeUInt16LE(end.disk ?? 0, 4);
  record.writeUInt16LE(end.directoryDisk ?? 0, 6);
  record.writeUInt16LE(end.entriesHere ?? end.entries ?? entries, 8);
  record.writeUInt16LE(end.entries ?? entries, 10);
  record.writeUInt32LE(end.directoryBytes ?? directoryBytes, 12);
  record.writeUInt32LE(end.directoryStart ?? directoryStart, 16);
  record.writeUInt16LE(comment.length, 20);
  return Buffer.concat([end.before ?? Buffer.alloc(0), record, comment, end.behind ?? Buffer.alloc(0)]);
}

/** Returns the ZIP64 end record and its locator, which belong between the central directory and the plain end record. */
export function zip64End(fields: {
  entries: number;
  directoryBytes: number;
  directoryStart: number;
  /** The offset of the record in the locator (default: directly after the central directory). */
  at?: number;
}): Buffer {
  const record = Buffer.alloc(56);
  record.writeUInt32LE(0x06064b50, 0);
  record.writeBigUInt64LE(44n, 4);
  record.writeUInt16LE(45, 12);
  record.writeUInt16LE(45, 14);
  record.writeBigUInt64LE(BigInt(fields.entries), 24);
  record.writeBigUInt64LE(BigInt(fields.entries), 32);
  record.writeBigUInt64LE(BigInt(fields.directoryBytes), 40);
  record.writeBigUInt64LE(BigInt(fields.directoryStart), 48);
  const locator = Buffer.alloc(20);
  locator.writeUInt32LE(0x07064b50, 0);
  locator.writeBigUInt64LE(BigInt(fields.at ?? fields.directoryStart + fields.directoryBytes), 8);
  locator.writeUInt32LE(1, 16);
  return Buffer.concat([record, locator]);
}

/** Returns one extra field of an entry. */
export function extraField(id: number, data: Buffer): Buffer {
  const header = Buffer.alloc(4);
  header.writeUInt16LE(id, 0);
  header.writeUInt16LE(data.length, 2);
  return Buffer.concat([header, data]);
}

/** Returns the data descriptor: CRC and sizes after the data, used if bit 3 of the flags is set. */
export function dataDescriptor(
  data: string | Buffer,
  { signed = true, compressed = data.length } = {},
): Buffer {
  const bytes = Buffer.from(data);
  const descriptor = Buffer.alloc(12);
  descriptor.writeUInt32LE(crc32(bytes), 0);
  descriptor.writeUInt32LE(compressed, 4);
  descriptor.writeUInt32LE(bytes.length, 8);
  const signature = Buffer.from([0x50, 0x4b, 0x07, 0x08]);
  return signed ? Buffer.concat([signature, descriptor]) : descriptor;
}
