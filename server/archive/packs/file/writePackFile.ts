import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import type { PackFile, PackRecord } from '../../../../shared/archive/pack.ts';
import { Problem } from '../../../../shared/problems.ts';
import { type Bag, bagOf, PAYLOAD_FOLDER } from '../bag/bag.ts';
import { storedZip, storedZipBytes, type ZipPart } from '../zip/storedZip.ts';

/** A pack file to be written. Its size is known in advance. */
export interface PackFileOutput {
  id: string;
  digest: string;
  bytes: number;
  /** Opens the stream of bytes. Every file is read once before, so that damage is found before anything is sent. */
  open(): Promise<Readable>;
}

/** Reads a file of the pack from the start. It is called twice for each file. */
export type ReadFile = (file: PackFile) => AsyncIterable<Uint8Array>;

/** Returns the pack file of a record. The same record gives the same bytes on every machine. */
export function writePackFile(record: PackRecord, readFile: ReadFile): PackFileOutput {
  const bag = bagOf(record);
  const { id, digest } = bag;
  return {
    id,
    digest,
    bytes: storedZipBytes([...tagParts(bag), ...payloadNames(id, record)]),
    open: async () => {
      const payload: ZipPart[] = [];
      for (const file of record.files) {
        const crc = await crcOf(file, readFile);
        const name = payloadName(id, file);
        payload.push({ name, bytes: file.bytes, crc, read: () => readFile(file) });
      }
      return storedZip([...tagParts(bag), ...emptyPayload(id, record), ...payload]);
    },
  };
}

function tagParts({ id, tagFiles }: Bag) {
  return tagFiles.map(({ name, bytes }) => ({
    name: `${id}/${name}`,
    bytes: bytes.length,
    crc: crc32(bytes),
    async *read() {
      yield bytes;
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
