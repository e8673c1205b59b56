import { randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { temporaryFolder } from '../store/files.ts';
import { blobBytes } from '../store/sqlite/node/blobs.ts';
import { deleteCopiedFile, encryptedFiles, filesInState } from '../store/sqlite/node/copiedFiles.ts';
import { isReleased } from '../store/sqlite/node/withheld.ts';
import type { SyncedCopy } from './copyFiles.ts';
import { ENCRYPTED, encryptedDigest } from './copyPaths.ts';
import { decryptFile, readIdentity } from './keys/copyKeys.ts';
import { placesWithout } from './placesWithout.ts';

/*
 * Versions before 1.0 kept withheld objects in copies with pages, encrypted to the owner's key (age, C2SP). Nothing writes
 * such files any more: the next sync removes them, once their bytes are here or in another copy.
 */

const BATCH = 100;

/** Lists what is there encrypted of this archive, of a copy whose files are not known. */
export async function adoptEncrypted({ services, target, files, signal }: SyncedCopy): Promise<void> {
  for await (const { path } of target.list(ENCRYPTED, signal)) {
    const sha256 = encryptedDigest(path);
    if (sha256 === undefined || blobBytes(services.store.read, sha256) === undefined) continue;
    const found = await target.digestOf(path, signal);
    if (found) await files.adopt(path, found.sha256);
  }
}

/** Brings encrypted objects here that are not here, and gives up those whose bytes are here or in another checked copy. */
export async function giveUpEncrypted(synced: SyncedCopy): Promise<void> {
  const { services, copy, files } = synced;
  const { store } = services;
  for await (const batch of encryptedIn(synced)) {
    const digests = batch.map((path) => encryptedDigest(path) ?? '');
    const kept = digests.filter((sha256) => !isReleased(store.read, sha256));
    const safe = await placesWithout(store, { copy: copy.id, digests: kept }, (sha256) =>
      decrypted(synced, sha256),
    );
    await files.removeLater(
      batch.filter((_, index) => {
        const sha256 = digests[index] ?? '';
        return safe.has(sha256) || isReleased(store.read, sha256);
      }),
    );
  }
}

/** Removes what was given up for good, once the list does not have it. Returns whether no older version is known to be left. */
export async function purgeEncrypted({ services, copy, target }: SyncedCopy): Promise<boolean> {
  const { store } = services;
  const gone = filesInState(store.read, copy.id, 'gone').filter(
    ({ path }) => encryptedDigest(path) !== undefined,
  );
  if (gone.length === 0) return true;
  const isGone = await target.purge(gone.map(({ path }) => path));
  await store.write((database) => {
    for (const file of gone) deleteCopiedFile(database, { copy: copy.id, ...file });
  });
  return isGone;
}

async function* encryptedIn({ services, copy, signal }: SyncedCopy): AsyncGenerator<string[]> {
  for (let after = ''; ; ) {
    signal.throwIfAborted();
    const batch = encryptedFiles(services.store.read, { copy: copy.id, after, limit: BATCH });
    const last = batch.at(-1);
    if (last === undefined) return;
    yield batch;
    after = last;
  }
}

/** Yields an object that the copy holds encrypted; undefined if it does not, or to none of the keys that are here. */
async function decrypted(
  { services, target, signal }: SyncedCopy,
  sha256: string,
): Promise<AsyncIterable<Buffer> | undefined> {
  const { folder } = services.store;
  const identity = await readIdentity(folder);
  const stream = identity === undefined ? undefined : await target.read(`${ENCRYPTED}${sha256}.age`, signal);
  if (identity === undefined || !stream) return undefined;
  // Each start of a node removes such files.
  const from = join(temporaryFolder(folder), `withheld-${randomBytes(12).toString('hex')}`);
  const to = `${from}-decrypted`;
  const discard = () => Promise.all([from, to].map((file) => rm(file, { force: true })));
  try {
    await pipeline(stream, createWriteStream(from, { mode: 0o600 }), { signal });
    if (!(await decryptFile({ from, to, sha256 }, identity, signal))) {
      await discard();
      return undefined;
    }
  } catch (error) {
    await discard();
    throw error;
  }
  return (async function* () {
    try {
      yield* createReadStream(to) as AsyncIterable<Buffer>;
    } finally {
      await discard();
    }
  })();
}
