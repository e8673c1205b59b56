import type { FileHandle } from 'node:fs/promises';
import { readBytesAt, refuse } from './readBytesAt.ts';

/** Where the central directory lies and how many entries it says it has. */
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
 * Reads the end of a ZIP. The directory, its ZIP64 records where it has them and the end record must fill the file to
 * its last byte, with nothing between or behind them: readers that look from different ends then see one archive.
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
    refuse('invalid_pack_file', 'Something stands behind the end of the ZIP.');
  }
  if (record.readUInt16LE(4) !== 0 || record.readUInt16LE(6) !== 0) {
    refuse('invalid_pack_file', 'The ZIP is split over several disks; send it as one file.');
  }
  const told: CentralDirectory = {
    entries: record.readUInt16LE(10),
    bytes: record.readUInt32LE(12),
    start: record.readUInt32LE(16),
  };
  const has64 = end >= LOCATOR && tail.readUInt32LE(end - LOCATOR) === LOCATOR_SIGNATURE;
  const directory = has64 ? readEndRecord64(tail, end, fileBytes, told) : told;
  const directoryEnd = fileBytes - record.length - (has64 ? LOCATOR + END_RECORD_64 : 0);
  const disagree = record.readUInt16LE(8) !== told.entries;
  if (disagree || directory.start + directory.bytes !== directoryEnd) {
    refuse('invalid_pack_file', 'The end of the ZIP does not say where its directory lies.');
  }
  return directory;
}

/** The last place that bears the signature, which is the one that yauzl takes too. */
function findEndRecord(tail: Buffer): number {
  for (let at = tail.length - END_RECORD; at >= 0; at -= 1) {
    if (tail.readUInt32LE(at) === END_SIGNATURE) return at;
  }
  return refuse('invalid_pack_file', 'This is not a ZIP, or it is cut short: it has no end record.');
}

/** A ZIP64 end record overrules the plain one, so it must stand right before it and say nothing else. */
function readEndRecord64(tail: Buffer, end: number, fileBytes: number, told: CentralDirectory) {
  const lie = (): never => refuse('invalid_pack_file', 'The ZIP64 end record and the plain one disagree.');
  const at = end - LOCATOR - END_RECORD_64;
  if (at < 0 || tail.readUInt32LE(at) !== END_SIGNATURE_64) return lie();
  const record = tail.subarray(at, at + END_RECORD_64);
  const locator = tail.subarray(end - LOCATOR, end);
  const isWhole = record.readBigUInt64LE(4) === BigInt(END_RECORD_64 - 12);
  const isLocated = locator.readBigUInt64LE(8) === BigInt(fileBytes - tail.length + at);
  const isOneDisk =
    locator.readUInt32LE(4) === 0 &&
    locator.readUInt32LE(16) <= 1 &&
    record.readUInt32LE(16) === 0 &&
    record.readUInt32LE(20) === 0;
  if (!isWhole || !isLocated || !isOneDisk) return lie();
  const entries = Number(record.readBigUInt64LE(32));
  const bytes = Number(record.readBigUInt64LE(40));
  const start = Number(record.readBigUInt64LE(48));
  const agrees = (plain: number, marker: number, value: number) => plain === marker || plain === value;
  const isTrue =
    record.readBigUInt64LE(24) === record.readBigUInt64LE(32) &&
    agrees(told.entries, 0xffff, entries) &&
    agrees(told.bytes, 0xffff_ffff, bytes) &&
    agrees(told.start, 0xffff_ffff, start);
  return isTrue ? { entries, bytes, start } : lie();
}
