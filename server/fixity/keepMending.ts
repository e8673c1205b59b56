import { constants } from 'node:fs';
import { copyFile, link } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissing, type KeptBy, type StagedBlob } from '../store/blobs/blobStore.ts';
import { createFolder, syncFolder } from '../store/blobs/durableFile.ts';
import type { Store } from '../store/store.ts';
import { isDamaged, recordIntact } from './damages.ts';

/** File systems that know no second name for a file say so by one of these. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/**
 * Puts bytes on stable storage under their name: the one way in for all that may be damaged there. Where it is known to
 * be, the damaged bytes are set aside first and the damage is recorded to have ended. The caller names the blob in a row.
 */
export async function keepMending(
  store: Pick<Store, 'read' | 'write' | 'instant' | 'blobs' | 'folder'>,
  staged: StagedBlob,
  by?: KeptBy,
): Promise<void> {
  const { sha256 } = staged;
  const isMending = isDamaged(store.read, sha256);
  if (isMending) await setAside(store, sha256);
  await staged.keep(by);
  if (isMending) await store.write((database) => recordIntact(database, sha256, store.instant()));
}

/**
 * Gives the bytes that lie under an object's name, and are not it, a second name in `damaged/`:
 * that of the object and, after a dot, their own digest. So right bytes may take the first one, and nothing is lost
 * that somebody might yet want to look at. Nothing here ever removes it.
 */
async function setAside(store: Pick<Store, 'blobs' | 'folder'>, sha256: string): Promise<void> {
  const found = await store.blobs.rehash(sha256).catch(() => 'unreadable');
  if (found === undefined || found === sha256) return;
  const folder = join(store.folder, 'damaged');
  await createFolder(folder);
  await nameAgain(store.blobs.fileOf(sha256), join(folder, `${sha256}.${found}`));
  await syncFolder(folder);
}

async function nameAgain(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    // The same damaged bytes were set aside before, or somebody took them away meanwhile.
    if (code === 'EEXIST' || isMissing(error)) return;
    if (!NO_LINKS.has(code)) throw error;
    await copyFile(from, to, constants.COPYFILE_FICLONE);
  }
}
