import { type FileHandle, open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { type Entry, fromFdPromise, type ZipFile } from 'yauzl';
import { Problem } from '../../../../shared/problems.ts';
import { readCentralDirectory } from './centralDirectory.ts';
import { checkEntry } from './checkEntry.ts';
import { checkLayout } from './checkLayout.ts';
import { entryName } from './entryName.ts';
import { refuse } from './readBytesAt.ts';

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

export interface ZipLimits {
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
  const handle = await open(file, 'r');
  try {
    const members = await readMembers(handle, limits);
    return { members, close: () => handle.close() };
  } catch (error) {
    await handle.close();
    throw asProblem(error);
  }
}

async function readMembers(handle: FileHandle, limits: ZipLimits): Promise<ZipMember[]> {
  const { size } = await handle.stat();
  const directory = await readCentralDirectory(handle, size);
  if (directory.entries > limits.maxEntries) {
    refuse('invalid_pack_file', `The ZIP has more than ${limits.maxEntries} entries.`);
  }
  // yauzl does not decode names or check sizes. Both are checked here, with separate problem codes.
  const options = { autoClose: false, decodeStrings: false, validateEntrySizes: false };
  const zip = await fromFdPromise(handle.fd, options);
  const entries: Entry[] = [];
  const members: ZipMember[] = [];
  let expanded = 0;
  for await (const entry of zip.eachEntry()) {
    const name = entryName(entry.fileNameRaw, entry.extraFields);
    checkEntry(name, entry);
    expanded += entry.uncompressedSize;
    if (expanded > limits.maxBytes) {
      refuse('excessive_compression', `Uncompressed, the ZIP has more than ${limits.maxBytes} bytes.`);
    }
    entries.push(entry);
    members.push({
      name,
      folder: name.endsWith('/'),
      bytes: entry.uncompressedSize,
      read: () => readEntry(zip, entry, name),
    });
  }
  await checkLayout(handle, zip, entries, directory);
  return members;
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
