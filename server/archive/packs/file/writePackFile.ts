import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { PackFile, PackRecord } from '../../../../shared/archive/pack.ts';
import { Problem } from '../../../../shared/problems.ts';
import { type Bag, bagOf, PAYLOAD_FOLDER } from '../bag/bag.ts';
import { type ByteRange, type StoredZip, storedZip, storedZipBytes } from '../zip/storedZip.ts';

/** A pack file to be written. Its size is known in advance. */
export interface PackFileOutput {
  id: string;
  digest: string;
  bytes: number;
  /** The number of its files. */
  files: number;
  /** Reads every file once and returns their CRCs. @throws Problem `blob_damaged` if the bytes do not match the record. */
  check(): Promise<Uint32Array>;
  /** Returns the pack file. Its files are read while it is read. */
  zip(crcs: Uint32Array): PackZip;
}

export interface PackZip extends Pick<StoredZip, 'read'> {
  /** Reads every file that has bytes in these ranges. @throws Problem `blob_damaged` if the bytes do not match the record. */
  check(ranges: readonly ByteRange[]): Promise<void>;
}

/** Where the files of a pack are read. */
export interface FileReader {
  /** Reads bytes of a file of the pack, or all of them. */
  read: (file: PackFile, range?: ByteRange) => AsyncIterable<Uint8Array>;
  /** Called for a file whose bytes do not match the record, before the error is thrown. */
  reportDamage?: (file: PackFile) => Promise<void>;
}

/** Returns the pack file of a record. The same record gives the same bytes on every machine. */
export function writePackFile(record: PackRecord, reader: FileReader): PackFileOutput {
  const bag = bagOf(record);
  const { id, digest } = bag;
  return {
    id,
    digest,
    files: record.files.length,
    bytes: storedZipBytes([...tagParts(bag), ...payloadNames(id, record)]),
    check: async () => {
      const crcs = new Uint32Array(record.files.length);
      for (const [index, file] of record.files.entries()) crcs[index] = await crcOf(file, reader);
      return crcs;
    },
    zip: (crcs) => {
      const before = [...tagParts(bag), ...emptyPayload(id, record)];
      const payload = record.files.map((file, index) => ({
        name: payloadName(id, file),
        bytes: file.bytes,
        crc: crcs[index] ?? 0,
        read: (range: ByteRange) => reader.read(file, range),
      }));
      const zip = storedZip([...before, ...payload]);
      return {
        read: (range) => zip.read(range),
        check: async (ranges) => {
          for (const part of new Set(ranges.flatMap((range) => zip.partsIn(range)))) {
            const file = record.files[part - before.length];
            if (file) await crcOf(file, reader);
          }
        },
      };
    },
  };
}

function tagParts({ id, tagFiles }: Bag) {
  return tagFiles.map(({ name, bytes }) => ({
    name: `${id}/${name}`,
    bytes: bytes.length,
    crc: crc32(bytes),
    async *read({ start, end }: ByteRange) {
      yield bytes.subarray(start, end + 1);
    },
  }));
}

/** A bag must have a folder `data/`. It needs its own entry only if it contains no files. */
function emptyPayload(id: string, { files }: PackRecord) {
  return files.length === 0 ? [{ name: `${id}/${PAYLOAD_FOLDER}`, folder: true as const }] : [];
}

function payloadNames(id: string, record: PackRecord) {
  return [
    ...emptyPayload(id, record),
    ...record.files.map((file) => ({ name: payloadName(id, file), bytes: file.bytes })),
  ];
}

function payloadName(id: string, { path }: PackFile): string {
  return `${id}/${PAYLOAD_FOLDER}${path}`;
}

/** Returns the CRC of a file. @throws Problem `blob_damaged` if the bytes do not match the record. */
async function crcOf(file: PackFile, { read, reportDamage }: FileReader): Promise<number> {
  const sha256 = createHash('sha256');
  let crc = 0;
  for await (const chunk of read(file)) {
    sha256.update(chunk);
    crc = crc32(chunk, crc);
  }
  if (sha256.digest('hex') === file.sha256) return crc;
  await reportDamage?.(file);
  throw new Problem('blob_damaged', `The stored bytes of ${JSON.stringify(file.path)} are damaged.`);
}
