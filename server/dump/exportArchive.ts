import { createHash, hash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Problem } from '../../shared/problems.ts';
import { instantOf } from '../../shared/values/clock.ts';
import {
  ARCHIVE_BAG,
  DECLARATION,
  DECLARATION_FILE,
  INFO_FILE,
  infoText,
  MANIFEST_FILE,
  manifestLine,
  TAG_MANIFEST_FILE,
} from '../archive/packs/bag/tagFiles.ts';
import { confirmDamage } from '../fixity/audit.ts';
import type { Checkpoints } from '../ledger/checkpoints.ts';
import { blobPath, databaseFile, fileChunks, syncFolder, temporaryFolder } from '../store/files.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import { openSnapshot } from '../store/sqlite/engine/writeAheadLog.ts';
import { blobBytes, iterateBlobRows } from '../store/sqlite/node/blobs.ts';
import { offloadedExamples } from '../store/sqlite/node/offloadedObjects.ts';
import type { Store } from '../store/store.ts';
import { type StreamedFile, streamedZip } from '../zip/writeZip.ts';
import { splitLines } from './dumpFile.ts';
import { dumpHeader, dumpOf } from './restoreDump.ts';

/** A stored blob is missing or damaged, so nothing was exported. */
export class ExportError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ExportError';
  }
}

/** A whole archive as a ZIP file, which is generated while it is read. */
interface PreparedExport {
  blobs: number;
  bytes: number;
  /** Fails with an ExportError at a blob that is missing or damaged. */
  zip: Readable;
  /** Deletes the working files and closes the database. Must always be called. */
  close: () => Promise<void>;
}

/**
 * Prepares the whole archive (its dump and all blobs) as one BagIt 1.0 bag (RFC 8493) in a ZIP file. Every blob is
 * re-hashed while it is read. Dump and list of blobs are from one snapshot of the database, which is released before the
 * first byte is read. Blobs are never changed or deleted, so a node may go on. Memory does not grow with the archive: the
 * dump, the manifest and the directory of the ZIP are in working files in `tmp/`, which each start empties.
 *
 * @throws Problem `copy_unreachable`, `blob_damaged` if a copy with offloaded objects cannot be read: what is sent can only
 * break off, without a reason
 */
export async function exportArchive(
  store: Store,
  checkpoints: Checkpoints,
  signal: AbortSignal,
): Promise<PreparedExport> {
  const { offloaded } = store.blobs;
  for (const sha256 of offloadedExamples(store.read))
    if (await offloaded.isOffloaded(sha256))
      for await (const _ of offloaded.stream(sha256, { start: 0, end: 0 })) break;
  const database = await openSnapshot(databaseFile(store.folder));
  const working = join(temporaryFolder(store.folder), `export-${store.randomHex(20)}`);
  const files = {
    dump: `${working}.dump`,
    manifest: `${working}.manifest`,
    directory: `${working}.directory`,
  };
  const close = async () => {
    database.close();
    for (const file of Object.values(files)) await rm(file, { force: true });
  };
  try {
    const header = await dumpHeader(database, store.clock, checkpoints);
    const dump = await saveHashed(dumpOf(database, header, checkpoints), files.dump, signal);
    const counts = { blobs: 0, bytes: 0 };
    const manifest = await saveHashed(manifestOf(database, dump.sha256, counts), files.manifest, signal);
    database.exec('COMMIT');
    const zip = streamedZip(bagFiles({ store, database, files, dump, manifest }), {
      directoryFile: files.directory,
      modified: new Date(store.clock.now()),
    });
    return { ...counts, zip: Readable.from(zip, { objectMode: false }), close };
  } catch (error) {
    await close();
    throw error;
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

interface SavedFile {
  sha256: string;
  bytes: number;
}

/** Writes text to a working file. */
async function saveHashed(text: Iterable<string>, file: string, signal: AbortSignal): Promise<SavedFile> {
  const sha256 = createHash('sha256');
  let bytes = 0;
  const hashing = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      sha256.update(chunk);
      bytes += chunk.length;
      done(null, chunk);
    },
  });
  const output = createWriteStream(file, { mode: 0o600 });
  await pipeline(Readable.from(text), hashing, output, { signal });
  return { sha256: sha256.digest('hex'), bytes };
}

/** The lines that are written at once, so that the event loop is free between two pieces. */
const LINES_AT_ONCE = 500;

/** Yields the manifest of the bag: all blobs, which are counted, and the dump. */
function* manifestOf(
  database: ReadDatabase,
  dumpDigest: string,
  counts: { blobs: number; bytes: number },
): Generator<string> {
  let piece = '';
  for (const { sha256, bytes } of iterateBlobRows(database)) {
    counts.blobs += 1;
    counts.bytes += bytes;
    piece += manifestLine(
      sha256,
      `${ARCHIVE_BAG.blobs}${sha256.slice(0, 2)}/${sha256.slice(2, 4)}/${sha256}`,
    );
    if (counts.blobs % LINES_AT_ONCE > 0) continue;
    yield piece;
    piece = '';
  }
  yield piece + manifestLine(dumpDigest, ARCHIVE_BAG.dump);
}

interface BagContent {
  store: Store;
  database: ReadDatabase;
  files: { dump: string; manifest: string };
  dump: SavedFile;
  manifest: SavedFile;
}

/** Yields the files of the bag: what the manifest lists, in its order, then the tag files. */
async function* bagFiles(content: BagContent): AsyncGenerator<StreamedFile> {
  const { store, database, files, dump, manifest } = content;
  const file = (path: string, bytes: number, read: StreamedFile['read'], isCompressed = false) => ({
    name: `${ARCHIVE_BAG.folder}/${path}`,
    bytes,
    isCompressed,
    read,
  });
  for await (const line of splitLines(fileChunks(files.manifest))) {
    const [sha256 = '', path = ''] = line.toString().split('  ');
    if (path === ARCHIVE_BAG.dump) {
      yield file(path, dump.bytes, () => checked(fileChunks(files.dump), sha256), true);
      continue;
    }
    const bytes = blobBytes(database, sha256) ?? 0;
    yield file(path, bytes, () => checkedBlob(store, { sha256, bytes }));
  }
  const info = infoText([
    ['External-Description', 'A complete Strongroom archive: its dump and all blobs'],
    ['Bagging-Date', instantOf(store.clock.now()).slice(0, 10)],
  ]);
  const tagManifest = [
    manifestLine(hash('sha256', DECLARATION), DECLARATION_FILE),
    manifestLine(hash('sha256', info), INFO_FILE),
    manifestLine(manifest.sha256, MANIFEST_FILE),
  ].join('');
  const tag = (name: string, text: string) =>
    file(name, Buffer.byteLength(text), async function* () {
      yield Buffer.from(text);
    });
  yield tag(DECLARATION_FILE, DECLARATION);
  yield tag(INFO_FILE, info);
  yield file(MANIFEST_FILE, manifest.bytes, () => fileChunks(files.manifest), true);
  yield tag(TAG_MANIFEST_FILE, tagManifest);
}

/** Reads a blob from its file or, if it is offloaded, from elsewhere. */
async function* blobChunks(
  store: Store,
  { sha256, bytes }: { sha256: string; bytes: number },
): AsyncGenerator<Buffer> {
  const file = blobPath(store.folder, sha256);
  const isHere = await stat(file).catch(() => undefined);
  yield* isHere ? fileChunks(file) : store.blobs.read(sha256, { start: 0, end: bytes - 1 });
}

/** Yields a blob and hashes it. Damage is recorded before the export breaks off, so that its client can ask what it was. */
async function* checkedBlob(store: Store, blob: { sha256: string; bytes: number }): AsyncGenerator<Buffer> {
  try {
    yield* checked(blobChunks(store, blob), blob.sha256);
  } catch (error) {
    await confirmDamage(store, [blob.sha256]);
    throw error;
  }
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
    if (cause instanceof Problem)
      throw new ExportError(`The blob ${sha256} cannot be read. ${cause.message} Nothing was written.`);
    throw new ExportError(
      `The blob ${sha256} cannot be read (${cause instanceof Error ? cause.message.split(',')[0] : 'unknown'}). Nothing was written.`,
    );
  }
  if (hash.digest('hex') !== sha256) {
    throw new ExportError(
      `The blob ${sha256} is damaged: its content does not match its digest. Nothing was written.`,
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
