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
  /** Reads every file once and returns their CRCs. @throws Problem `blob_damaged` if the bytes do not match the record. */
  check(): Promise<Uint32Array>;
  /** Returns the pack file. Its files are read while it is read. */
  zip(crcs: Uint32Array): StoredZip;
}

/** Reads bytes of a file of the pack, or all of them. */
export type ReadFile = (file: PackFile, range?: ByteRange) => AsyncIterable<Uint8Array>;

/** Returns the pack file of a record. The same record gives the same bytes on every machine. */
export function writePackFile(record: PackRecord, readFile: ReadFile): PackFileOutput {
  const bag = bagOf(record);
  const { id, digest } = bag;
  return {
    id,
    digest,
    bytes: storedZipBytes([...tagParts(bag), ...payloadNames(id, record)]),
    check: async () => {
      const crcs = new Uint32Array(record.files.length);
      for (const [index, file] of record.files.entries()) crcs[index] = await crcOf(file, readFile);
      return crcs;
    },
    zip: (crcs) => {
      const payload = record.files.map((file, index) => ({
        name: payloadName(id, file),
        bytes: file.bytes,
        crc: crcs[index] ?? 0,
        read: (range: ByteRange) => readFile(file, range),
      }));
      return storedZip([...tagParts(bag), ...emptyPayload(id, record), ...payload]);
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
async function crcOf(file: PackFile, readFile: ReadFile): Promise<number> {
  const sha256 = createHash('sha256');
  let crc = 0;
  for await (const chunk of readFile(file)) {
    sha256.update(chunk);
    crc = crc32(chunk, crc);
  }
  if (sha256.digest('hex') === file.sha256) return crc;
  throw new Problem('blob_damaged', `The stored bytes of ${JSON.stringify(file.path)} are damaged.`);
}
