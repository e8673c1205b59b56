import { crc32, deflateRawSync } from 'node:zlib';

/** What stands in one of the two headers of an entry; tests make them lie. */
interface HeaderFields {
  name: Buffer;
  flags: number;
  method: number;
  crc: number;
  compressed: number;
  uncompressed: number;
  extra: Buffer;
}

/** An entry as a test wants it; what is left out is as an honest writer has it. */
export interface BuiltEntry {
  name: string | Buffer;
  data?: string | Buffer;
  /** 0 stored, 8 deflated, or what the test says. */
  method?: number;
  /** Bit 11 (UTF-8) is set where nothing is said. */
  flags?: number;
  /** Bytes that stand for the data in place of what `method` makes of it. */
  raw?: Buffer;
  /** The Unix mode, such as 0o120777 of a symbolic link. */
  mode?: number;
  /** The upper byte is the maker's system: 3 Unix, 0 DOS. */
  madeBy?: number;
  externalAttributes?: number;
  /** What both headers say instead. */
  both?: Partial<HeaderFields>;
  local?: Partial<HeaderFields>;
  central?: Partial<HeaderFields>;
  /** Bytes right before the local header. */
  before?: Buffer;
  /** Bytes behind the data. */
  behind?: Buffer;
  /** Where the directory says that the local header is. */
  offset?: number;
  /** Whether the entry stands in the directory alone. */
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
  /** Bytes between the directory and the end record. */
  before?: Buffer;
  /** Bytes behind the end record. */
  behind?: Buffer;
}

/** Writes a ZIP byte by byte, with every lie that its parts ask for. */
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

/** The ZIP64 end record and its locator, which stand between the directory and the plain end record. */
export function zip64End(told: {
  entries: number;
  directoryBytes: number;
  directoryStart: number;
  /** Where the locator says that the record is; right behind the directory where nothing is said. */
  at?: number;
}): Buffer {
  const record = Buffer.alloc(56);
  record.writeUInt32LE(0x06064b50, 0);
  record.writeBigUInt64LE(44n, 4);
  record.writeUInt16LE(45, 12);
  record.writeUInt16LE(45, 14);
  record.writeBigUInt64LE(BigInt(told.entries), 24);
  record.writeBigUInt64LE(BigInt(told.entries), 32);
  record.writeBigUInt64LE(BigInt(told.directoryBytes), 40);
  record.writeBigUInt64LE(BigInt(told.directoryStart), 48);
  const locator = Buffer.alloc(20);
  locator.writeUInt32LE(0x07064b50, 0);
  locator.writeBigUInt64LE(BigInt(told.at ?? told.directoryStart + told.directoryBytes), 8);
  locator.writeUInt32LE(1, 16);
  return Buffer.concat([record, locator]);
}

/** One field of an entry's extra part. */
export function extraField(id: number, data: Buffer): Buffer {
  const header = Buffer.alloc(4);
  header.writeUInt16LE(id, 0);
  header.writeUInt16LE(data.length, 2);
  return Buffer.concat([header, data]);
}

/** CRC and sizes as they stand behind the data where bit 3 of the flags says so. */
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
