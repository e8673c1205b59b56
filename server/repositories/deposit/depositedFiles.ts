import { createHash, type Hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { PackFile } from '../../../shared/archive/pack.ts';
import { Problem } from '../../../shared/problems.ts';
import { requirePack } from '../../archive/packs/readPack.ts';
import { confirmDamage, type DamageContext, isBlobDamageError } from '../../fixity/audit.ts';
import { filesOfPack, recordTexts } from '../../store/sqlite/archive/packs.ts';

/** A file that is deposited. Its bytes were read once and are those of the record. */
export interface DepositedFile {
  path: string;
  bytes: number;
  mediaType: string;
  /** In lower case hex, by the algorithm as Node names it. */
  digests: ReadonlyMap<string, string>;
  crc: number;
  read: () => AsyncIterable<Uint8Array>;
}

/** The algorithms that InvenioRDM and Dataverse use. */
const ALGORITHMS = ['md5', 'sha1', 'sha256', 'sha512'] as const;
const RECORD_FILE = 'pack.json';

/**
 * Returns what is deposited of a pack: its record, whose SHA-256 is the fingerprint, and its files. Reads every file once.
 *
 * @throws Problem `not_found`; `blob_damaged`, also later from `read`
 */
export async function depositedFiles(
  store: DamageContext,
  pack: string,
  signal: AbortSignal,
): Promise<DepositedFile[]> {
  const row = requirePack(store.read, pack);
  const packFiles = filesOfPack(store.read, row.ledger_entry);
  // It is stored as canonical JSON, whose SHA-256 is the fingerprint.
  const recordBytes = Buffer.from(recordTexts(store.read, [row.ledger_entry])[0]?.record ?? '');
  const readRecord = async function* () {
    yield recordBytes;
  };
  const recordDigests = await digestsOf(readRecord());
  if (recordDigests.digests.get('sha256') !== row.digest)
    throw new Problem('blob_damaged', 'The stored record is damaged. Verify the pack for details.');
  const isTaken = packFiles.some(({ path }) => path.toLowerCase() === RECORD_FILE);
  const files: DepositedFile[] = [
    {
      path: isTaken ? `${pack}.json` : RECORD_FILE,
      bytes: recordBytes.length,
      mediaType: 'application/json',
      read: readRecord,
      ...recordDigests,
    },
  ];
  for (const file of packFiles) {
    signal.throwIfAborted();
    const read = () => readFile(store, file);
    const found = await digestsOf(read());
    if (found.digests.get('sha256') !== file.sha256) throw await damaged(store, file);
    files.push({ path: file.path, bytes: file.bytes, mediaType: file.media_type, read, ...found });
  }
  return files;
}

async function* readFile(store: DamageContext, file: PackFile): AsyncGenerator<Uint8Array> {
  try {
    yield* store.blobs.read(file.sha256);
  } catch (error) {
    if (!isBlobDamageError(error)) throw error;
    throw await damaged(store, file, error);
  }
}

async function damaged(store: DamageContext, { path, sha256 }: PackFile, cause?: unknown): Promise<Problem> {
  await confirmDamage(store, [sha256]);
  return new Problem('blob_damaged', `The stored bytes of ${JSON.stringify(path)} are damaged.`, { cause });
}

async function digestsOf(chunks: AsyncIterable<Uint8Array>): Promise<Pick<DepositedFile, 'digests' | 'crc'>> {
  const hashes = ALGORITHMS.map((algorithm): [string, Hash] => [algorithm, createHash(algorithm)]);
  let crc = 0;
  for await (const chunk of chunks) {
    for (const [, hash] of hashes) hash.update(chunk);
    crc = crc32(chunk, crc);
  }
  return { digests: new Map(hashes.map(([algorithm, hash]) => [algorithm, hash.digest('hex')])), crc };
}
