import type { FileHandle } from 'node:fs/promises';
import type { Entry, ExtraField, LocalFileHeader, ZipFile } from 'yauzl';
import type { CentralDirectory } from './centralDirectory.ts';
import { ENCRYPTION_FLAGS } from './checkEntry.ts';
import { entryName, extraFieldsOf } from './entryName.ts';
import { readBytesAt, refuse } from './readBytesAt.ts';

const CENTRAL_RECORD = 46;
const LOCAL_HEADER = 30;
/** Flags that must be equal in both headers: encrypted, sizes after the data, strong encryption, UTF-8, masked. */
const COMPARED_FLAGS = 0x2849;
const SIZES_AFTER_DATA = 0x08;
const IN_ZIP64_FIELD = 0xffff_ffff;
const ZIP64_FIELD = 0x0001;
const DESCRIPTOR_SIGNATURE = 0x08074b50;

/**
 * Checks that every byte before the directory belongs to exactly one entry, and that local headers agree with the
 * directory. Otherwise readers could see different archives, or several entries could share the same data.
 *
 * @throws Problem `invalid_pack_file`; the codes of `entryName` and `encrypted_entry` for a local header.
 */
export async function checkLayout(
  handle: FileHandle,
  zip: ZipFile,
  entries: readonly Entry[],
  directory: CentralDirectory,
): Promise<void> {
  const directoryBytes = entries.reduce((sum, entry) => sum + recordBytes(entry), 0);
  if (directoryBytes !== directory.bytes)
    refuse('invalid_pack_file', 'The directory of the ZIP has bytes that belong to no entry.');
  const inOrder = entries.toSorted(
    (left, right) => left.relativeOffsetOfLocalHeader - right.relativeOffsetOfLocalHeader,
  );
  let reached = 0;
  for (const [index, entry] of inOrder.entries()) {
    const start = entry.relativeOffsetOfLocalHeader;
    const next = inOrder[index + 1]?.relativeOffsetOfLocalHeader ?? directory.start;
    if (start !== reached || start + LOCAL_HEADER > directory.start) {
      refuse('invalid_pack_file', 'The entries of the ZIP overlap, or there are gaps between them.');
    }
    const local = await zip.readLocalFileHeaderPromise(entry);
    const dataEnd = local.fileDataStart + entry.compressedSize;
    checkLocalHeader(entry, local);
    await checkDescriptor(handle, entry, dataEnd, next - dataEnd);
    reached = next;
  }
  if (reached !== directory.start) refuse('invalid_pack_file', 'The ZIP has bytes that belong to no entry.');
}

function recordBytes({ fileNameLength, extraFieldLength, fileCommentLength }: Entry): number {
  return CENTRAL_RECORD + fileNameLength + extraFieldLength + fileCommentLength;
}

function checkLocalHeader(entry: Entry, local: LocalFileHeader): void {
  const extraFields = extraFieldsOf(local.extraField);
  const name = entryName(local.fileName, extraFields);
  if ((local.generalPurposeBitFlag & ENCRYPTION_FLAGS) !== 0) {
    refuse('encrypted_entry', `${JSON.stringify(name)} is encrypted. Send unencrypted files.`);
  }
  const isDeferred = (entry.generalPurposeBitFlag & SIZES_AFTER_DATA) !== 0;
  const { compressed, uncompressed } = sizesOf(local, extraFields);
  const matches = (value: number, expected: number) => value === expected || (isDeferred && value === 0);
  const agrees =
    local.fileName.equals(entry.fileNameRaw) &&
    local.compressionMethod === entry.compressionMethod &&
    ((local.generalPurposeBitFlag ^ entry.generalPurposeBitFlag) & COMPARED_FLAGS) === 0 &&
    matches(local.crc32, entry.crc32) &&
    matches(compressed, entry.compressedSize) &&
    matches(uncompressed, entry.uncompressedSize);
  if (!agrees)
    refuse('invalid_pack_file', `${JSON.stringify(name)} has two contradictory headers in the ZIP.`);
}

/** Returns the sizes in the local header, or in its ZIP64 field if the header refers to it. */
function sizesOf(local: LocalFileHeader, extraFields: readonly ExtraField[]) {
  const field = extraFields.find(({ id }) => id === ZIP64_FIELD)?.data;
  const large = (at: number) =>
    field && field.length >= at + 8 ? Number(field.readBigUInt64LE(at)) : Number.NaN;
  const uncompressed = local.uncompressedSize === IN_ZIP64_FIELD ? large(0) : local.uncompressedSize;
  const after = local.uncompressedSize === IN_ZIP64_FIELD ? 8 : 0;
  const compressed = local.compressedSize === IN_ZIP64_FIELD ? large(after) : local.compressedSize;
  return { compressed, uncompressed };
}

/** Checks the bytes after the data: none, or if flagged a data descriptor (32 or 64 bits, with or without signature). */
async function checkDescriptor(handle: FileHandle, entry: Entry, at: number, bytes: number): Promise<void> {
  const wrong = (): never =>
    refuse('invalid_pack_file', 'The entries of the ZIP overlap, or there are gaps between them.');
  if ((entry.generalPurposeBitFlag & SIZES_AFTER_DATA) === 0) {
    if (bytes !== 0) wrong();
    return;
  }
  const is64 = bytes === 20 || bytes === 24;
  const isSigned = bytes === 16 || bytes === 24;
  if (!is64 && bytes !== 12 && bytes !== 16) return wrong();
  const descriptor = await readBytesAt(handle, at, bytes);
  if (isSigned && descriptor.readUInt32LE(0) !== DESCRIPTOR_SIGNATURE) return wrong();
  const rest = descriptor.subarray(isSigned ? 4 : 0);
  const size = (index: number) =>
    is64 ? Number(rest.readBigUInt64LE(4 + 8 * index)) : rest.readUInt32LE(4 + 4 * index);
  const agrees =
    rest.readUInt32LE(0) === entry.crc32 &&
    size(0) === entry.compressedSize &&
    size(1) === entry.uncompressedSize;
  if (!agrees)
    refuse(
      'invalid_pack_file',
      'The sizes after the data of a ZIP entry differ from those in the directory.',
    );
}
