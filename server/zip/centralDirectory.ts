import type { FileHandle } from 'node:fs/promises';
import { Problem, type ProblemCode } from '../../shared/problems.ts';

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
