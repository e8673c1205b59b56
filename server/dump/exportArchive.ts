import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import { type Clock, instantOf } from '../../shared/values/clock.ts';
import { DECLARATION, infoText, manifestLine } from '../archive/packs/bag/tagText.ts';
import type { Checkpoints } from '../ledger/checkpoints.ts';
import type { Elsewhere } from '../store/blobs/blobStore.ts';
import { syncFolder } from '../store/blobs/durableFile.ts';
import { blobPath, databaseFile } from '../store/blobs/paths.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import { openSnapshot } from '../store/sqlite/engine/writeAheadLog.ts';
import { iterateBlobRows } from '../store/sqlite/node/blobs.ts';
import { ARCHIVE_BAG } from './archiveBag.ts';
import { dumpHeader, dumpOf } from './writeDump.ts';

/** A stored blob is missing or damaged, so nothing was exported. */
export class ExportError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ExportError';
  }
}

/** The archive to export, and what signs the checkpoint of its dump. */
export interface ExportedArchive {
  folder: string;
  clock: Clock;
  checkpoints: Checkpoints;
}

/** Opens the place from which blobs are read that have left the disk of an archive. */
export type OpenElsewhere = (archive: { read: ReadDatabase; folder: string }) => Elsewhere;

/** A whole archive as a ZIP file, which is generated while it is read. */
export interface PreparedExport {
  blobs: number;
  bytes: number;
  /** Fails with an ExportError at a blob that is missing or damaged. */
  zip: Readable;
  /** Deletes the working file and closes the database. Must always be called. */
  close: () => Promise<void>;
}

export interface ExportOptions {
  /** Where the dump is written for a while. */
  dump: string;
  openElsewhere?: OpenElsewhere | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Prepares the whole archive (its dump and all blobs) as one BagIt 1.0 bag (RFC 8493) in a ZIP file. Every blob is
 * re-hashed while it is read. Dump and list of blobs are from one snapshot of the database, which is released before the
 * first byte is read. Blobs are never changed or deleted, so a node may go on.
 */
export async function prepareExport(
  archive: ExportedArchive,
  { dump, openElsewhere, signal }: ExportOptions,
): Promise<PreparedExport> {
  const database = await openSnapshot(databaseFile(archive.folder), { isMapped: false });
  const close = async () => {
    database.close();
    await rm(dump, { force: true });
  };
  try {
    const dumpDigest = await saveDump(database, archive, dump, signal);
    const zip = new ZipFile();
    const output = zip.outputStream as Readable;
    zip.on('error', (error: Error) => output.destroy(error));
    const fail = (error: Error) => output.destroy(error);
    const elsewhere = openElsewhere?.({ read: database, folder: archive.folder });
    const counts = addPayload(zip, database, { archive, elsewhere, dump, dumpDigest, fail });
    database.exec('COMMIT');
    zip.end();
    return { ...counts, zip: output, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Writes the whole archive to a file, which gets its name only after it is complete and on stable storage.
 *
 * @returns the number of blobs and their bytes
 * @throws ExportError
 */
export async function exportArchive(
  archive: ExportedArchive,
  file: string,
  openElsewhere?: OpenElsewhere,
): Promise<{ blobs: number; bytes: number }> {
  const { blobs, bytes, zip, close } = await prepareExport(archive, {
    // Not in the data folder's `tmp/`: a node that starts meanwhile empties that folder.
    dump: `${file}.dump.partial`,
    openElsewhere,
  });
  try {
    await saveWhole(zip, file);
    return { blobs, bytes };
  } finally {
    await close();
  }
}

/** Writes a stream to a file. The file gets its name only after it is complete and on stable storage. */
export async function saveWhole(content: Readable, file: string): Promise<void> {
  const partial = `${file}.partial`;
  try {
    await pipeline(content, createWriteStream(partial, { flush: true }));
    await syncFile(partial);
    await rename(partial, file);
    await syncFolder(dirname(file));
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}

async function saveDump(
  database: ReadDatabase,
  { clock, checkpoints }: ExportedArchive,
  file: string,
  signal: AbortSignal | undefined,
): Promise<string> {
  const sha256 = createHash('sha256');
  const hashing = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      sha256.update(chunk);
      done(null, chunk);
    },
  });
  const header = await dumpHeader(database, clock, checkpoints);
  const output = createWriteStream(file, { mode: 0o600 });
  await pipeline(Readable.from(dumpOf(database, header)), hashing, output, { signal });
  return sha256.digest('hex');
}

interface Payload {
  archive: ExportedArchive;
  elsewhere: Elsewhere | undefined;
  dump: string;
  dumpDigest: string;
  fail: (error: Error) => void;
}

function addPayload(
  zip: ZipFile,
  database: ReadDatabase,
  { archive, elsewhere, dump, dumpDigest, fail }: Payload,
): { blobs: number; bytes: number } {
  const manifest: string[] = [];
  let blobs = 0;
  let bytes = 0;
  const name = (path: string) => `${ARCHIVE_BAG.folder}/${path}`;
  const add = (path: string, sha256: string, chunks: () => AsyncIterable<Buffer>) => {
    manifest.push(manifestLine(sha256, path));
    zip.addReadStreamLazy(name(path), { compress: path === ARCHIVE_BAG.dump }, (callback) => {
      const stream = Readable.from(checked(chunks(), sha256), { objectMode: false });
      stream.on('error', fail);
      callback(undefined, stream);
    });
  };
  for (const blob of iterateBlobRows(database)) {
    blobs += 1;
    bytes += blob.bytes;
    const { sha256 } = blob;
    const path = `${ARCHIVE_BAG.blobs}${sha256.slice(0, 2)}/${sha256.slice(2, 4)}/${sha256}`;
    add(path, sha256, () => blobChunks(blobPath(archive.folder, sha256), blob, elsewhere));
  }
  add(ARCHIVE_BAG.dump, dumpDigest, () => fileChunks(dump));
  const tags = {
    'bagit.txt': DECLARATION,
    'bag-info.txt': infoText([
      ['External-Description', 'A whole Strongroom archive: its dump and every blob'],
      ['Bagging-Date', instantOf(archive.clock.now()).slice(0, 10)],
    ]),
    'manifest-sha256.txt': manifest.join(''),
  };
  const tagManifest = Object.entries(tags).map(([tag, text]) =>
    manifestLine(createHash('sha256').update(text).digest('hex'), tag),
  );
  for (const [tag, text] of Object.entries({ ...tags, 'tagmanifest-sha256.txt': tagManifest.join('') })) {
    zip.addBuffer(Buffer.from(text), name(tag));
  }
  return { blobs, bytes };
}

function fileChunks(file: string): AsyncIterable<Buffer> {
  return createReadStream(file, { highWaterMark: 1_048_576 }) as AsyncIterable<Buffer>;
}

/** Reads a blob from its file or, if it has left this disk, from elsewhere. */
async function* blobChunks(
  file: string,
  { sha256, bytes }: { sha256: string; bytes: number },
  elsewhere: Elsewhere | undefined,
): AsyncGenerator<Buffer> {
  const isAway = elsewhere && !(await stat(file).catch(() => undefined));
  yield* isAway ? elsewhere.read(sha256, { start: 0, end: bytes - 1 }) : fileChunks(file);
}

/** Yields bytes and hashes them. @throws ExportError if they cannot be read or their digest differs */
async function* checked(chunks: AsyncIterable<Buffer>, sha256: string): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  try {
    for await (const chunk of chunks) {
      hash.update(chunk);
      yield chunk;
    }
  } catch (cause) {
    throw new ExportError(
      `The blob ${sha256} cannot be read (${cause instanceof Error ? cause.message.split(',')[0] : 'unknown'}). Nothing was written.`,
    );
  }
  if (hash.digest('hex') !== sha256) {
    throw new ExportError(
      `The blob ${sha256} is damaged: its bytes have another digest. Nothing was written.`,
    );
  }
}

async function syncFile(file: string): Promise<void> {
  const handle = await open(file, 'r+');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
