import { constants } from 'node:fs';
import { copyFile, link } from 'node:fs/promises';
import { join } from 'node:path';
import { digestOf } from './digestOf.ts';
import { createFolder, syncFolder } from './durableFile.ts';
import { isMissing } from './fileErrors.ts';
import { blobPath } from './paths.ts';

/** File systems that know no second name for a file say so by one of these. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/**
 * Gives the bytes that lie under an object's name, and are not it, a second name in `damaged/`:
 * that of the object and, after a dot, their own digest. So right bytes may take the first one, and nothing is lost
 * that somebody might yet want to look at. Nothing here ever removes it.
 */
export async function setAside(dataFolder: string, sha256: string): Promise<void> {
  const file = blobPath(dataFolder, sha256);
  const found = await digestOf(file).catch(() => 'unreadable');
  if (found === undefined || found === sha256) return;
  const folder = join(dataFolder, 'damaged');
  await createFolder(folder);
  await nameAgain(file, join(folder, `${sha256}.${found}`));
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
