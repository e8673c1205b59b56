import { type FileHandle, open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { type Entry, type ExtraField, fromFdPromise, type LocalFileHeader, type ZipFile } from 'yauzl';
import { Problem } from '../../shared/problems.ts';
import { ENCRYPTION_FLAGS, ZIP64_FIELD } from '../../shared/values/zipFormat.ts';
import {
  type CentralDirectory,
  checkEntry,
  entryName,
  extraFieldsOf,
  readBytesAt,
  readCentralDirectory,
  refuse,
  requireHarmlessFields,
} from './centralDirectory.ts';

/** A file or folder in a ZIP. */
export interface ZipMember {
  /** The name in the ZIP: safe, separated by `/`, with a trailing slash for a folder. */
  name: string;
  folder: boolean;
  /** The declared size. `read` returns exactly as many bytes or throws. */
  bytes: number;
  /** Reads and decompresses the data. */
  read(): AsyncGenerator<Buffer>;
}

export interface OpenZip {
  members: ZipMember[];
  close(): Promise<void>;
}

interface ZipLimits {
  maxEntries: number;
  /** The maximum total size of all uncompressed members. */
  maxBytes: number;
}

/**
 * Opens an untrusted ZIP. When this resolves, every member has a safe name and is an unencrypted regular file or folder,
 * the declared sizes are within the limits, and every byte of the archive belongs to exactly one member or to the
 * directory. Nothing overlaps, is hidden or is ambiguous.
 *
 * @throws Problem with the code of the first fault.
 */
export async function openZip(file: string, limits: ZipLimits): Promise<OpenZip> {
  const members: ZipMember[] = [];
  const handle = await openChecked(file, limits, (member) => members.push(member));
  return { members, close: () => handle.close() };
}

/** A ZIP with any number of members. */
export interface LargeZip {
  /** Yields the members in the order of the directory. Each call reads the directory again. */
  members(): AsyncGenerator<ZipMember>;
  close(): Promise<void>;
}

/**
 * Opens an untrusted ZIP and checks it as `openZip` does, without holding its members in memory. Their number and size are
 * not limited.
 *
 * @throws Problem with the code of the first fault.
 */
export async function openLargeZip(file: string): Promise<LargeZip> {
  const limits = { maxEntries: Number.MAX_SAFE_INTEGER, maxBytes: Number.MAX_SAFE_INTEGER };
  const handle = await openChecked(file, limits, () => {});
  return {
    async *members() {
      for await (const { member } of entriesOf(handle)) yield member;
    },
    close: () => handle.close(),
  };
}

/** Returns whether a ZIP has a member whose name is accepted. Only the directory is read. @throws Problem */
export async function hasMember(file: string, accepts: (name: string) => boolean): Promise<boolean> {
  const handle = await open(file, 'r');
  try {
    await readCentralDirectory(handle, (await handle.stat()).size);
    for await (const { member } of entriesOf(handle)) if (accepts(member.name)) return true;
    return false;
  } catch (error) {
    throw asProblem(error);
  } finally {
    await handle.close();
  }
}

async function openChecked(
  file: string,
  limits: ZipLimits,
  visit: (member: ZipMember) => void,
): Promise<FileHandle> {
  const handle = await open(file, 'r');
  try {
    await checkMembers(handle, limits, visit);
    return handle;
  } catch (error) {
    await handle.close();
    throw asProblem(error);
  }
}

async function checkMembers(
  handle: FileHandle,
  limits: ZipLimits,
  visit: (member: ZipMember) => void,
): Promise<void> {
  const { size } = await handle.stat();
  const directory = await readCentralDirectory(handle, size);
  if (directory.entries > limits.maxEntries) {
    refuse('invalid_pack_file', `The ZIP has more than ${limits.maxEntries} entries.`);
  }
  let expanded = 0;
  let directoryBytes = 0;
  let reached = 0;
  let isInOrder = true;
  for await (const { entry, member } of entriesOf(handle)) {
    checkEntry(member.name, entry);
    expanded += entry.uncompressedSize;
    if (expanded > limits.maxBytes) {
      refuse('excessive_compression', `Uncompressed, the ZIP has more than ${limits.maxBytes} bytes.`);
    }
    directoryBytes += recordBytes(entry);
    isInOrder &&= entry.relativeOffsetOfLocalHeader >= reached;
    reached = entry.relativeOffsetOfLocalHeader;
    visit(member);
  }
  if (directoryBytes !== directory.bytes)
    refuse('invalid_pack_file', 'The directory of the ZIP has bytes that belong to no entry.');
  await checkLayout(handle, isInOrder ? entriesOf(handle) : await sorted(entriesOf(handle)), directory);
}

/** An entry of the directory, and the member that it describes. */
interface ZipEntry {
  zip: ZipFile;
  entry: Entry;
  member: ZipMember;
}

async function* entriesOf(handle: FileHandle): AsyncGenerator<ZipEntry> {
  // yauzl does not decode names or check sizes. Both are checked here, with separate problem codes.
  const options = { autoClose: false, decodeStrings: false, validateEntrySizes: false };
  const zip = await fromFdPromise(handle.fd, options);
  for await (const entry of zip.eachEntry()) {
    const name = entryName(entry.fileNameRaw, entry.extraFields);
    const member = {
      name,
      folder: name.endsWith('/'),
      bytes: entry.uncompressedSize,
      read: () => readEntry(zip, entry, name),
    };
    yield { zip, entry, member };
  }
}

async function sorted(entries: AsyncIterable<ZipEntry>): Promise<ZipEntry[]> {
  const all: ZipEntry[] = [];
  for await (const each of entries) all.push(each);
  return all.sort(
    (left, right) => left.entry.relativeOffsetOfLocalHeader - right.entry.relativeOffsetOfLocalHeader,
  );
}

/** Reads an entry. More bytes than declared mean a ZIP bomb; fewer or different ones mean damage. */
async function* readEntry(zip: ZipFile, entry: Entry, name: string): AsyncGenerator<Buffer> {
  let bytes = 0;
  let crc = 0;
  let consumed = entry.compressedSize;
  try {
    const stream: Readable & { bytesWritten?: number } = await zip.openReadStreamPromise(entry);
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > entry.uncompressedSize) {
        refuse('excessive_compression', `${JSON.stringify(name)} expands to more than it declares.`);
      }
      crc = crc32(chunk, crc);
      yield chunk;
    }
    // The number of compressed bytes that the inflater used. Unused ones would be hidden data.
    consumed = stream.bytesWritten ?? consumed;
  } catch (error) {
    throw asProblem(error);
  }
  const isComplete = bytes === entry.uncompressedSize && consumed === entry.compressedSize;
  if (!isComplete || crc !== entry.crc32) {
    refuse(
      'invalid_pack_file',
      `${JSON.stringify(name)} is damaged: its size or CRC differs from the declared one.`,
    );
  }
}

/** Converts errors of yauzl and zlib to problems. I/O errors and programming errors are kept. */
function asProblem(error: unknown): unknown {
  if (error instanceof Problem || !(error instanceof Error)) return error;
  const isOurs = error instanceof TypeError || error instanceof ReferenceError || 'syscall' in error;
  if (isOurs) return error;
  if (/encrypt/i.test(error.message)) {
    return new Problem('encrypted_entry', 'An entry of the ZIP is encrypted.', { cause: error });
  }
  return new Problem('invalid_pack_file', 'The ZIP is malformed.', { cause: error });
}

const CENTRAL_RECORD = 46;
const LOCAL_HEADER = 30;
/** Flags that must be equal in both headers: encrypted, sizes after the data, strong encryption, UTF-8, masked. */
const COMPARED_FLAGS = 0x2849;
const SIZES_AFTER_DATA = 0x08;
const IN_ZIP64_FIELD = 0xffff_ffff;
const DESCRIPTOR_SIGNATURE = 0x08074b50;

/**
 * Checks that every byte before the directory belongs to exactly one entry, and that local headers agree with the
 * directory. Otherwise readers could see different archives, or several entries could share the same data.
 *
 * @param inOrder all entries in the order of their data
 * @throws Problem `invalid_pack_file`; the codes of `entryName` and `encrypted_entry` for a local header.
 */
async function checkLayout(
  handle: FileHandle,
  inOrder: AsyncIterable<ZipEntry> | Iterable<ZipEntry>,
  directory: CentralDirectory,
): Promise<void> {
  let reached = 0;
  const check = async ({ zip, entry }: ZipEntry, next: number) => {
    const start = entry.relativeOffsetOfLocalHeader;
    if (start !== reached || start + LOCAL_HEADER > directory.start) {
      refuse('invalid_pack_file', 'The entries of the ZIP overlap, or there are gaps between them.');
    }
    const local = await zip.readLocalFileHeaderPromise(entry);
    const dataEnd = local.fileDataStart + entry.compressedSize;
    checkLocalHeader(entry, local);
    await checkDescriptor(handle, entry, dataEnd, next - dataEnd);
    reached = next;
  };
  let previous: ZipEntry | undefined;
  for await (const each of inOrder) {
    if (previous) await check(previous, each.entry.relativeOffsetOfLocalHeader);
    previous = each;
  }
  if (previous) await check(previous, directory.start);
  if (reached !== directory.start) refuse('invalid_pack_file', 'The ZIP has bytes that belong to no entry.');
}

/** Returns the size of an entry's record in the directory. */
function recordBytes({ fileNameLength, extraFieldLength, fileCommentLength }: Entry): number {
  return CENTRAL_RECORD + fileNameLength + extraFieldLength + fileCommentLength;
}

function checkLocalHeader(entry: Entry, local: LocalFileHeader): void {
  const extraFields = extraFieldsOf(local.extraField);
  const name = entryName(local.fileName, extraFields);
  requireHarmlessFields(name, extraFields);
  if ((local.generalPurposeBitFlag & ENCRYPTION_FLAGS) !== 0) {
    refuse('encrypted_entry', `${JSON.stringify(name)} is encrypted. Send unencrypted files.`);
  }
  const isDeferred = (entry.generalPurposeBitFlag & SIZES_AFTER_DATA) !== 0;
  const { compressed, uncompressed } = sizesOf(local, extraFields);
  const agrees =
    local.fileName.equals(entry.fileNameRaw) &&
    local.compressionMethod === entry.compressionMethod &&
    ((local.generalPurposeBitFlag ^ entry.generalPurposeBitFlag) & COMPARED_FLAGS) === 0 &&
    ((isDeferred && local.crc32 === 0 && compressed === 0 && uncompressed === 0) ||
      (local.crc32 === entry.crc32 &&
        compressed === entry.compressedSize &&
        uncompressed === entry.uncompressedSize));
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
