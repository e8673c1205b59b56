import { isUtf8 } from 'node:buffer';
import type { FileHandle } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { type Entry, type ExtraField, parseExtraFields } from 'yauzl';
import { Problem, type ProblemCode } from '../../shared/problems.ts';
import {
  ENCRYPTION_FLAGS,
  HARMLESS_FIELDS,
  isReadAsUtf8,
  UNICODE_PATH,
  UNICODE_PATH_HEADER,
  ZIP64_FIELD,
} from '../../shared/values/zipFormat.ts';

/** The position of the central directory and its declared number of entries. */
export interface CentralDirectory {
  start: number;
  bytes: number;
  entries: number;
}

const END_RECORD = 22;
const END_SIGNATURE = 0x06054b50;
const MAX_COMMENT = 0xffff;
const LOCATOR = 20;
const LOCATOR_SIGNATURE = 0x07064b50;
const END_RECORD_64 = 56;
const END_SIGNATURE_64 = 0x06064b50;

/**
 * Reads the end of a ZIP. The directory, its optional ZIP64 records and the end record must extend to the last byte of
 * the file, without gaps. Then all readers see the same archive, whether they start at the beginning or the end.
 *
 * @throws Problem `invalid_pack_file` for anything else.
 */
export async function readCentralDirectory(file: FileHandle, fileBytes: number): Promise<CentralDirectory> {
  if (fileBytes < END_RECORD) refuse('invalid_pack_file', 'This is not a ZIP: it is too short.');
  const tailBytes = Math.min(fileBytes, END_RECORD_64 + LOCATOR + END_RECORD + MAX_COMMENT);
  const tail = await readBytesAt(file, fileBytes - tailBytes, tailBytes);
  const end = findEndRecord(tail);
  const record = tail.subarray(end);
  if (record.readUInt16LE(20) !== record.length - END_RECORD) {
    refuse('invalid_pack_file', 'There are extra bytes after the end of the ZIP.');
  }
  if (record.readUInt16LE(4) !== 0 || record.readUInt16LE(6) !== 0) {
    refuse('invalid_pack_file', 'The ZIP is split into several files. Send it as one file.');
  }
  const plain: CentralDirectory = {
    entries: record.readUInt16LE(10),
    bytes: record.readUInt32LE(12),
    start: record.readUInt32LE(16),
  };
  const has64 = end >= LOCATOR && tail.readUInt32LE(end - LOCATOR) === LOCATOR_SIGNATURE;
  const directory = has64 ? readEndRecord64(tail, end, fileBytes, plain) : plain;
  const directoryEnd = fileBytes - record.length - (has64 ? LOCATOR + END_RECORD_64 : 0);
  const disagree = record.readUInt16LE(8) !== plain.entries;
  if (disagree || directory.start + directory.bytes !== directoryEnd) {
    refuse('invalid_pack_file', 'The end record of the ZIP does not match its directory.');
  }
  return directory;
}

/** Returns the position of the last end signature, which is the one that yauzl uses. */
function findEndRecord(tail: Buffer): number {
  for (let at = tail.length - END_RECORD; at >= 0; at -= 1) {
    if (tail.readUInt32LE(at) === END_SIGNATURE) return at;
  }
  return refuse('invalid_pack_file', 'This is not a ZIP, or it is truncated: it has no end record.');
}

/** A ZIP64 end record overrides the plain one, so it must be directly before it and agree with it. */
function readEndRecord64(tail: Buffer, end: number, fileBytes: number, plain: CentralDirectory) {
  const disagree = (): never =>
    refuse('invalid_pack_file', 'The ZIP64 end record and the plain one disagree.');
  const at = end - LOCATOR - END_RECORD_64;
  if (at < 0 || tail.readUInt32LE(at) !== END_SIGNATURE_64) return disagree();
  const record = tail.subarray(at, at + END_RECORD_64);
  const locator = tail.subarray(end - LOCATOR, end);
  const hasPlainSize = record.readBigUInt64LE(4) === BigInt(END_RECORD_64 - 12);
  const isLocated = locator.readBigUInt64LE(8) === BigInt(fileBytes - tail.length + at);
  const isOneDisk =
    locator.readUInt32LE(4) === 0 &&
    locator.readUInt32LE(16) <= 1 &&
    record.readUInt32LE(16) === 0 &&
    record.readUInt32LE(20) === 0;
  if (!hasPlainSize || !isLocated || !isOneDisk) return disagree();
  const entries = Number(record.readBigUInt64LE(32));
  const bytes = Number(record.readBigUInt64LE(40));
  const start = Number(record.readBigUInt64LE(48));
  const agrees = (field: number, marker: number, value: number) => field === marker || field === value;
  const isConsistent =
    record.readBigUInt64LE(24) === record.readBigUInt64LE(32) &&
    agrees(plain.entries, 0xffff, entries) &&
    agrees(plain.bytes, 0xffff_ffff, bytes) &&
    agrees(plain.start, 0xffff_ffff, start);
  return isConsistent ? { entries, bytes, start } : disagree();
}

/** Refuses a pack file. @throws Problem always */
export function refuse(code: ProblemCode, detail: string, members?: Record<string, unknown>): never {
  throw new Problem(code, detail, members === undefined ? {} : { members });
}

/** Reads exactly these bytes of a ZIP. @throws Problem `invalid_pack_file` if the file is shorter. */
export async function readBytesAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  for (let filled = 0; filled < length; ) {
    const { bytesRead } = await file.read(buffer, filled, length - filled, position + filled);
    if (bytesRead === 0) refuse('invalid_pack_file', 'The ZIP is truncated.');
    filled += bytesRead;
  }
  return buffer;
}

const STORED = 0;
const DEFLATED = 8;
const AES = 99;
/** Extra fields of strong encryption and of AES. */
const ENCRYPTION_FIELDS: ReadonlySet<number> = new Set([0x0014, 0x0015, 0x0016, 0x0017, 0x0019, 0x9901]);

/** File types in the upper four bits of a Unix mode; 0 if the ZIP has no Unix modes. */
const TYPE_NONE = 0o00;
const TYPE_FOLDER = 0o04;
const TYPE_FILE = 0o10;
const TYPE_SYMLINK = 0o12;
/** Windows marks symbolic links and junctions as reparse points. */
const REPARSE_POINT = 0x400;
const MAKERS_WITH_WINDOWS_ATTRIBUTES: ReadonlySet<number> = new Set([0, 10, 11, 14]);

/** Deflate expands one byte to at most 1032. Nearly empty entries may have a few bytes more. */
const MAX_DEFLATE_RATIO = 1032;
const SMALL_ENTRY = 64;

/**
 * Checks the directory record of an entry, before its data is read.
 *
 * @throws Problem `encrypted_entry`, `symlink_entry`, `excessive_compression`, `invalid_name_encoding` or
 * `invalid_pack_file`.
 */
export function checkEntry(name: string, entry: Entry): void {
  const shown = JSON.stringify(name);
  const isEncrypted =
    (entry.generalPurposeBitFlag & ENCRYPTION_FLAGS) !== 0 ||
    entry.compressionMethod === AES ||
    entry.extraFields.some(({ id }) => ENCRYPTION_FIELDS.has(id));
  if (isEncrypted) refuse('encrypted_entry', `${shown} is encrypted. Send unencrypted files.`);
  requireHarmlessFields(name, entry.extraFields);
  requireReadableName(shown, entry);
  checkType(shown, name.endsWith('/'), entry);
  const { compressionMethod, compressedSize, uncompressedSize } = entry;
  if (compressionMethod !== STORED && compressionMethod !== DEFLATED) {
    refuse('invalid_pack_file', `${shown} is neither stored nor deflated.`);
  }
  if (!Number.isSafeInteger(compressedSize) || !Number.isSafeInteger(uncompressedSize)) {
    refuse('excessive_compression', `${shown} declares an impossible size.`);
  }
  if (uncompressedSize > compressedSize * MAX_DEFLATE_RATIO + SMALL_ENTRY) {
    refuse('excessive_compression', `${shown} declares more bytes than its compressed data can hold.`);
  }
  if (compressionMethod === STORED && compressedSize !== uncompressedSize) {
    refuse('invalid_pack_file', `${shown} is not compressed, but declares two different sizes.`);
  }
  if (name.endsWith('/') && uncompressedSize !== 0)
    refuse('invalid_pack_file', `${shown} is a folder with bytes.`);
}

function checkType(shown: string, isFolder: boolean, { externalFileAttributes, versionMadeBy }: Entry): void {
  const type = externalFileAttributes >>> 28;
  const isReparsePoint =
    (externalFileAttributes & REPARSE_POINT) !== 0 && MAKERS_WITH_WINDOWS_ATTRIBUTES.has(versionMadeBy >>> 8);
  if (type === TYPE_SYMLINK || isReparsePoint) {
    refuse('symlink_entry', `${shown} is a symbolic link. Send the file itself.`);
  }
  if (type !== TYPE_NONE && type !== (isFolder ? TYPE_FOLDER : TYPE_FILE)) {
    refuse('invalid_pack_file', `${shown} is neither a plain file nor a folder.`);
  }
}

/**
 * Requires that no extra field of a header changes what other programs extract. Readers also differ in which of two sizes
 * they take.
 *
 * @throws Problem `invalid_pack_file`
 */
export function requireHarmlessFields(name: string, extraFields: readonly ExtraField[]): void {
  const shown = JSON.stringify(name);
  const strange = extraFields.find(({ id }) => !HARMLESS_FIELDS.has(id));
  if (strange) {
    const number = `0x${strange.id.toString(16).padStart(4, '0')}`;
    refuse(
      'invalid_pack_file',
      `${shown} has the extra field ${number}, with which other programs may extract something else. Create the ZIP anew.`,
    );
  }
  if (extraFields.filter(({ id }) => id === ZIP64_FIELD).length > 1)
    refuse('invalid_pack_file', `${shown} has its size twice in the ZIP.`);
}

function requireReadableName(shown: string, entry: Entry): void {
  const { fileNameRaw, generalPurposeBitFlag: flags, versionMadeBy: madeBy, extraFields } = entry;
  const hasUnicodePath = extraFields.some(({ id }) => id === UNICODE_PATH);
  if (!isReadAsUtf8(fileNameRaw, { flags, madeBy, hasUnicodePath }))
    refuse(
      'invalid_name_encoding',
      `${shown} is not marked as UTF-8 in the ZIP, so other programs give it another name. Create the ZIP with UTF-8 names.`,
    );
}

/** A path in a pack has at most 1,024 bytes, and the folder of the pack 255. */
const MAX_NAME_BYTES = 1_400;

/**
 * Returns the name of an entry. Names are decoded as UTF-8 even without the UTF-8 flag, because Info-ZIP on Linux does
 * not set it. A wrongly decoded name would not match the record.
 *
 * @throws Problem `invalid_name_encoding` if the name is not UTF-8 or there is a different second name; `unsafe_path` if
 * the name leads out of the target folder or is not portable.
 */
export function entryName(raw: Buffer, extraFields: readonly ExtraField[]): string {
  if (raw.length > MAX_NAME_BYTES)
    refuse('unsafe_path', `The name of an entry has more than ${MAX_NAME_BYTES} bytes.`);
  const name = decodeUtf8(raw);
  for (const { id, data } of extraFields) {
    if (id !== UNICODE_PATH) continue;
    const isSame =
      data.length > UNICODE_PATH_HEADER &&
      data.readUInt32LE(1) === crc32(raw) &&
      data.subarray(UNICODE_PATH_HEADER).equals(raw);
    if (!isSame)
      refuse(
        'invalid_name_encoding',
        `${JSON.stringify(name)} has a different second name in its ZIP entry.`,
      );
  }
  const fault = pathFault(name);
  if (fault) refuse('unsafe_path', `${JSON.stringify(name)}: ${fault}`, { path: name });
  return name;
}

/** @throws Problem `invalid_pack_file` if a field exceeds the available bytes. */
export function extraFieldsOf(raw: Buffer): ExtraField[] {
  try {
    return parseExtraFields(raw);
  } catch {
    return refuse('invalid_pack_file', 'An extra field of a ZIP entry is too long.');
  }
}

function decodeUtf8(raw: Buffer): string {
  if (isUtf8(raw)) return raw.toString();
  const shown = JSON.stringify(raw.toString('latin1'));
  return refuse('invalid_name_encoding', `The name ${shown} is not UTF-8. Create the ZIP with UTF-8 names.`);
}

function pathFault(name: string): string | undefined {
  if (name === '') return 'A name is empty.';
  if (name.includes('\0')) return 'A name must not contain NUL.';
  if (name.includes('\\')) return 'A path must use / instead of a backslash.';
  if (name.startsWith('/') || /^[A-Za-z]:/.test(name)) return 'A path must not be absolute.';
  const segments = name.replace(/\/$/, '').split('/');
  if (segments.some((segment) => segment === '..' || segment === '.'))
    return 'A path must not contain . or .. segments.';
  if (segments.includes('')) return 'A path must not contain empty segments.';
  return undefined;
}
