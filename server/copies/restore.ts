import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from '../../shared/values/clock.ts';
import { countOf } from '../../shared/values/counts.ts';
import type { DumpHead } from '../dump/checkDump.ts';
import { restoreDump } from '../dump/restoreDump.ts';
import { readEncrypted } from '../findings/sealed.ts';
import { markRestoredWithoutBlobs } from '../fixity/audit.ts';
import { markReadOnly } from '../ledger/appendEntry.ts';
import { keyFile } from '../ledger/nodeKey.ts';
import { inParallel } from '../runtime/inParallel.ts';
import { blobPath, syncFile, syncFileSystem, syncFolder, writeFileDurably } from '../store/files.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import { count } from '../store/sqlite/engine/queries.ts';
import { blobBytes, counter, iterateBlobRows } from '../store/sqlite/node/blobs.ts';
import { writeSetting } from '../store/sqlite/node/owner.ts';
import { openStore, type Store } from '../store/store.ts';
import { runLedgerVerification } from '../verification/ledger/ledgerVerification.ts';
import { assembleDump } from './assembleDump.ts';
import { encryptedDigest, objectPath, WITHHELD } from './copyPaths.ts';
import { readKey, requireKeyOf } from './keys/ownerKey.ts';
import { decryptTexts, identityIn, saveIdentity } from './keys/withheldKey.ts';
import { inBatches } from './sendObjects.ts';
import { type CopyTarget, InvalidCopyError } from './targets/target.ts';
import { decryptObjects } from './withheld/encrypted.ts';
import { BATCH } from './withheld/withheldObjects.ts';

export interface RestoreOptions {
  target: CopyTarget;
  /** The data folder to create. It must not exist, or be empty. */
  folder: string;
  clock: Clock;
  /** The passphrase of the key in the copy, to restore the key too. */
  passphrase?: string | undefined;
  /** The identities (age) that decrypt withheld objects, one on each line, if the owner has them elsewhere. */
  identity?: string | undefined;
  /** Returns the objects to restore in place of all. Such an archive is not meant to last: nothing is synced. */
  sample?: ((read: ReadDatabase, encrypted: ReadonlySet<string>) => BlobRow[]) | undefined;
  signal: AbortSignal;
  /** Called with the number of objects read, and how many there are. */
  progress: (done: number, total: number) => void;
}

export interface BlobRow {
  sha256: string;
  bytes: number;
}

interface RestoredObjects {
  objects: number;
  bytes: number;
  /** Objects that the copy does not hold intact. */
  missing: string[];
  /** Withheld objects that the copy holds encrypted, and that could not be decrypted without the owner's key. */
  encrypted: string[];
  /** Objects that were given up. They are in no copy. */
  released: number;
}

export interface RestoreResult extends RestoredObjects {
  head: DumpHead;
  /** Sealed findings whose records the copy holds encrypted, and that could not be decrypted without the owner's key. */
  sealed: number;
}

/**
 * Creates a data folder from a copy. Everything is verified: the checkpoint's signature, each record against its ledger
 * entry, each object against its digest. The archive is read-only until its owner chooses a key, also if its key was
 * restored: it may have signed more after the copy. The folder gets its name
 * only after everything was written.
 *
 * @throws CopyError, DumpError; nothing is left then
 */
export async function restoreCopy(options: RestoreOptions): Promise<RestoreResult> {
  const { target, folder, clock, passphrase, signal } = options;
  const partial = `${folder}.restoring`;
  const records = `${partial}-records`;
  for (const each of [partial, records]) await rm(each, { recursive: true, force: true });
  // First, so that a wrong passphrase does not cost the time of a restore.
  const kept = passphrase === undefined ? undefined : await readKey(target, passphrase);
  // Both, if the owner gives both: what was sealed with either can be read.
  const identity = identityIn([options.identity, kept?.identity].join('\n'));
  try {
    await mkdir(records, { mode: 0o700 });
    const { note, chunks } = await assembleDump(target, records, signal);
    const result = await fill({ ...options, identity }, partial, chunks);
    if (kept !== undefined) {
      requireKeyOf(kept.key, result.head.verifierKey, target);
      await writeFileDurably(keyFile(partial), kept.key, 0o600);
    }
    if (identity !== undefined) await saveIdentity(partial, identity);
    await writeFileDurably(join(partial, 'checkpoint'), note, 0o600);
    const { problems } = await runLedgerVerification({ folder: partial, clock });
    if (problems.length > 0)
      throw new InvalidCopyError(
        `The ledger in ${target.name} is invalid: ${countOf(problems.length, 'problem')}.`,
      );
    // Replaces an empty folder. If the folder holds anything, this fails and changes nothing.
    await rename(partial, folder);
    await syncFolder(dirname(folder));
    return result;
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    throw error;
  } finally {
    await rm(records, { recursive: true, force: true });
  }
}

async function fill(
  options: RestoreOptions,
  partial: string,
  dump: AsyncIterable<Buffer>,
): Promise<RestoreResult> {
  const store = await openStore({ folder: partial, clock: options.clock });
  try {
    const head = await restoreDump(store, dump);
    await store.write((database) => writeSetting(database, 'verifier_key', head.verifierKey));
    const objects = await restoreObjects(options, store);
    // Reading what only the owner's key decrypts must not record damage.
    if (objects.encrypted.length > 0) await markRestoredWithoutBlobs(store);
    const sealed = await readEncrypted(store, (texts) => decryptTexts(texts, options.identity));
    await store.write((database) => markReadOnly(database));
    return { head, ...objects, sealed };
  } finally {
    await store.close();
  }
}

/**
 * Reads the objects of an archive that has no name yet from its copy, each verified. All of them are on stable storage when
 * this resolves. The folder gets its name after that, so a crash leaves no partial archive.
 */
async function restoreObjects(
  { target, signal, progress, identity, sample }: RestoreOptions,
  { read, folder }: Pick<Store, 'read' | 'folder'>,
): Promise<RestoredObjects> {
  const released = counter(read, 'released_objects');
  const result: RestoredObjects = { objects: 0, bytes: 0, missing: [], encrypted: [], released };
  const encrypted = new Set<string>();
  for await (const { path } of target.list(WITHHELD, signal)) {
    const sha256 = encryptedDigest(path);
    if (sha256 !== undefined) encrypted.add(sha256);
  }
  const chosen = sample?.(read, encrypted);
  const total = chosen?.length ?? count(read, 'blobs') - released;
  /** Encrypted objects that were not in the clear. */
  const waiting: string[] = [];
  const report = () => progress(result.objects + result.missing.length + result.encrypted.length, total);
  const restored = (bytes: number) => {
    result.objects += 1;
    result.bytes += bytes;
  };
  await inParallel(chosen ?? iterateBlobRows(read), target.concurrency, async (row) => {
    signal.throwIfAborted();
    const { sha256 } = row;
    // One that was withheld a moment ago is still in the clear.
    if (await target.fetch(objectPath(sha256), { file: blobPath(folder, sha256), ...row }, signal))
      restored(row.bytes);
    else if (!encrypted.has(sha256)) result.missing.push(sha256);
    else if (identity === undefined) result.encrypted.push(sha256);
    else waiting.push(sha256);
    report();
  });
  const decryptBatch = async (key: string, batch: readonly string[]) => {
    const objects = batch.map((sha256) => ({ sha256, to: blobPath(folder, sha256) }));
    for (const { to } of objects) await mkdir(dirname(to), { recursive: true, mode: 0o700 });
    const decrypted = await decryptObjects(target, objects, { folder, identity: key, signal });
    for (const sha256 of batch)
      if (decrypted.has(sha256)) restored(blobBytes(read, sha256) ?? 0);
      else result.missing.push(sha256);
    report();
  };
  if (identity !== undefined)
    for (const batch of inBatches(read, waiting, BATCH)) await decryptBatch(identity, batch);
  if (!chosen) await syncObjects(folder, read, new Set([...result.missing, ...result.encrypted]));
  result.missing.sort();
  result.encrypted.sort();
  return result;
}

async function syncObjects(folder: string, read: ReadDatabase, missing: ReadonlySet<string>): Promise<void> {
  if (await syncFileSystem(folder)) return;
  const folders = new Set<string>();
  for (const { sha256 } of iterateBlobRows(read)) {
    if (missing.has(sha256)) continue;
    const file = blobPath(folder, sha256);
    await syncFile(file);
    for (const parent of [dirname(file), dirname(dirname(file)), dirname(dirname(dirname(file)))])
      folders.add(parent);
  }
  for (const each of folders) await syncFolder(each);
}
