import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import mime from 'mime-types';
import type { PackFile, PackRecord } from '../../../../shared/archive/pack.ts';
import { Problem } from '../../../../shared/problems.ts';
import { confirmDamage, type DamageContext, isBlobDamageError } from '../../../fixity/audit.ts';
import { once } from '../../../runtime/concurrency.ts';
import { recordTexts } from '../../../store/sqlite/archive/packs.ts';
import { type ByteRange, type StoredZip, storedZip, storedZipBytes } from '../../../zip/writeZip.ts';
import { type Bag, bagOf } from '../bag/bag.ts';
import { PAYLOAD_FOLDER } from '../bag/tagFiles.ts';
import { checkRecord } from '../checkRecord.ts';
import { requirePack } from '../readPack.ts';

/** A pack file to be written. Its size is known in advance. */
interface PackFileOutput {
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

interface PackZip extends Pick<StoredZip, 'read'> {
  /** Reads every file that has bytes in these ranges. @throws Problem `blob_damaged` if the bytes do not match the record. */
  check(ranges: readonly ByteRange[]): Promise<void>;
}

/** Where the files of a pack are read. */
interface FileReader {
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

/**
 * Returns the pack file of a pack in the archive.
 *
 * @throws Problem `not_found`; `blob_damaged`, here or from a check, if the record or a file is damaged. A damaged file is
 * recorded as damaged, and no pack file is written from it.
 */
export function packFileOf(store: DamageContext, id: string): PackFileOutput {
  const row = requirePack(store.read, id);
  const [stored] = recordTexts(store.read, [row.ledger_entry]);
  const { record, digest } = checkRecord(JSON.parse(stored?.record ?? 'null'));
  if (digest !== row.digest) {
    throw new Problem('blob_damaged', 'The stored record is damaged. Verify the pack for details.');
  }
  return writePackFile(record, {
    reportDamage: ({ sha256 }) => confirmDamage(store, [sha256]),
    read: async function* ({ sha256 }, range) {
      try {
        yield* store.blobs.read(sha256, range);
      } catch (error) {
        if (!isBlobDamageError(error)) throw error;
        await confirmDamage(store, [sha256]);
        throw new Problem(
          'blob_damaged',
          'A file of this pack is missing or cannot be read. Verify the pack for details.',
          { cause: error },
        );
      }
    },
  });
}

/** The layouts that are cached have at most this many files together, at about 1 KB each. */
const MAX_FILES = 10_000;

/**
 * The pack files that are being sent. Their layouts and summaries are cached, so that ranges of a large pack are sent
 * without writing its tag files again. They are never outdated, because the record determines them.
 */
export class PackFiles {
  readonly #store: DamageContext;
  readonly #summaries = new PackFileSummaries();
  /** By fingerprint, the least recently used first. */
  readonly #outputs = new Map<string, PackFileOutput>();
  readonly #zips = new WeakMap<PackFileOutput, PackZip>();

  constructor(store: DamageContext) {
    this.#store = store;
  }

  /** Returns the pack file of a pack with this fingerprint. @throws Problem `not_found`, `blob_damaged` */
  of(id: string, digest: string): PackFileOutput {
    const output = this.#outputs.get(digest) ?? packFileOf(this.#store, id);
    this.#outputs.delete(digest);
    this.#outputs.set(digest, output);
    let files = this.#outputs.values().reduce((sum, each) => sum + each.files, 0);
    for (const [oldest, each] of this.#outputs) {
      if (files <= MAX_FILES) break;
      this.#outputs.delete(oldest);
      files -= each.files;
    }
    return output;
  }

  /** Returns what must be known of a pack file before a part of it is sent. @throws Problem `blob_damaged` */
  summaryOf(output: PackFileOutput): Promise<PackFileSummary> {
    return this.#summaries.of(output);
  }

  /** Returns a pack file with its layout. Its files are not checked. */
  zipOf(output: PackFileOutput, { crcs }: PackFileSummary): PackZip {
    let zip = this.#zips.get(output);
    if (!zip) this.#zips.set(output, (zip = output.zip(crcs)));
    return zip;
  }
}

/** What must be known of a pack file before a part of it can be sent. */
interface PackFileSummary {
  /** The CRCs of the files in the order of the record. */
  crcs: Uint32Array;
  /** The digest of the whole pack file, in hex. */
  sha256: string;
}

/** With 5,000 files each, this many summaries take 5 MB. */
const MAX_SUMMARIES = 250;

/**
 * Remembers summaries of pack files, so that the files of a pack are not read again for each range of it. They are never
 * outdated, because the record determines all bytes of a pack file.
 */
class PackFileSummaries {
  /** By fingerprint, the least recently used first. */
  readonly #summaries = new Map<string, Promise<PackFileSummary>>();

  /** Returns the summary of a pack file, and reads its files if it is not known. @throws Problem `blob_damaged` */
  of(output: PackFileOutput): Promise<PackFileSummary> {
    return once(this.#summaries, output.digest, () => summarize(output), MAX_SUMMARIES);
  }
}

async function summarize(output: PackFileOutput): Promise<PackFileSummary> {
  const crcs = await output.check();
  const sha256 = createHash('sha256');
  for await (const chunk of output.zip(crcs).read()) sha256.update(chunk);
  return { crcs, sha256: sha256.digest('hex') };
}

/** Returns the `files` of a record that omits them. Media types are guessed from the paths. */
export function filesOf(
  paths: readonly string[],
  files: ReadonlyMap<string, { sha256: string; bytes: number }>,
): PackFile[] {
  return paths.map((path) => {
    const { sha256 = '', bytes = 0 } = files.get(path) ?? {};
    return { path, sha256, bytes, media_type: mime.lookup(path) || 'application/octet-stream' };
  });
}
