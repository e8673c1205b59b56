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
  /** As the ZIP has it: safe, `/`-separated, a folder's with its closing slash. */
  name: string;
  folder: boolean;
  /** The size that it declares; `read` gives exactly as many bytes or throws. */
  bytes: number;
  /** Reads and expands it. */
  read(): AsyncGenerator<Buffer>;
}

export interface OpenZip {
  members: ZipMember[];
  close(): Promise<void>;
}

export interface ZipLimits {
  maxEntries: number;
  /** All members expanded, together. */
  maxBytes: number;
}

/**
 * Opens a ZIP of which nothing is believed. When this resolves, every member has a safe name of its own, is a plain
 * file or folder that is not encrypted, the sizes that all of them declare are within the limits, and every byte of
 * the archive belongs to one member or to the directory: nothing overlaps, hides or is told in two ways.
 *
 * @throws Problem with the code of what is wrong.
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
  // Names stay bytes and sizes unchecked: both are judged here, each with a code of its own.
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
      refuse('excessive_compression', `Expanded, the ZIP has more than ${limits.maxBytes} bytes.`);
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

/** Stops at the declared size: an entry that holds more is a bomb, one that holds less or other bytes is damaged. */
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
    // Where it is inflated: how much of the compressed data was needed for it. The rest would be hidden.
    consumed = stream.bytesWritten ?? consumed;
  } catch (error) {
    throw asProblem(error);
  }
  const isWhole = bytes === entry.uncompressedSize && consumed === entry.compressedSize;
  if (!isWhole || crc !== entry.crc32) {
    refuse(
      'invalid_pack_file',
      `${JSON.stringify(name)} is damaged: its size or CRC is not the declared one.`,
    );
  }
}

/** What yauzl and zlib say of a malformed archive has no code of ours; a failure of the disk stays one. */
function asProblem(error: unknown): unknown {
  if (error instanceof Problem || !(error instanceof Error)) return error;
  const isOurs = error instanceof TypeError || error instanceof ReferenceError || 'syscall' in error;
  if (isOurs) return error;
  if (/encrypt/i.test(error.message)) {
    return new Problem('encrypted_entry', 'An entry of the ZIP is encrypted.', { cause: error });
  }
  return new Problem('invalid_pack_file', 'The ZIP is malformed.', { cause: error });
}
