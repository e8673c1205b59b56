/*
 * The records of a ZIP (APPNOTE.TXT 6.3), with those of 64 bits where numbers need them.
 */

/** The fixed lengths of a local header, a central directory record and the end record. */
export const LOCAL_HEADER_BYTES = 30;
export const CENTRAL_RECORD_BYTES = 46;
export const END_RECORD_BYTES = 22;

/** 1980-01-01, the first day of the format. */
export const FIRST_DAY: Buffer = Buffer.from([0, 0, (1 << 5) | 1, 0]);

export interface Sizes {
  crc: number;
  compressed: number;
  uncompressed: number;
}

/** The date and time of a file, in the format of MS-DOS. */
export function timeFields(modified: Date): Buffer {
  const fields = Buffer.alloc(4);
  const seconds = Math.floor(modified.getUTCSeconds() / 2);
  fields.writeUInt16LE((modified.getUTCHours() << 11) | (modified.getUTCMinutes() << 5) | seconds, 0);
  const year = Math.max(0, modified.getUTCFullYear() - 1980);
  fields.writeUInt16LE((year << 9) | ((modified.getUTCMonth() + 1) << 5) | modified.getUTCDate(), 2);
  return fields;
}

/** What the local header and the central record of an entry say. */
export interface Header extends Sizes {
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
export const UINT32_MAX = 0xffff_ffff;
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

export function localHeader(header: Header): Buffer {
  const shown = header.isLarge ? UINT32_MAX : undefined;
  const known = header.isDeferred
    ? { ...header, crc: 0, compressed: shown ?? 0, uncompressed: shown ?? 0 }
    : { ...header, compressed: shown ?? header.compressed, uncompressed: shown ?? header.uncompressed };
  const extra = header.isLarge
    ? field64(...(header.isDeferred ? [0, 0] : [header.uncompressed, header.compressed]))
    : Buffer.alloc(0);
  const fields = commonFields(known, header.isLarge ? WITH_64_BITS : PLAIN);
  fields.writeUInt16LE(extra.length, 24);
  return Buffer.concat([signed(LOCAL_HEADER), fields, header.name, extra]);
}

/** The size and the CRC of a file, after its data. */
export function descriptor({ crc, compressed, uncompressed, isLarge }: Header): Buffer {
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

export function centralRecord(header: Header): Buffer {
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
export function endRecords(entries: number, bytes: number, start: number): Buffer {
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
