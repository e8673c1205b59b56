import { constants } from 'node:fs';
import { copyFile, link } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '../../../shared/values/errorCode.ts';
import { digestOf } from './digestOf.ts';
import { createFolder, syncFolder } from './durableFile.ts';
import { isMissing } from './fileErrors.ts';
import { blobPath } from './paths.ts';

/** Errors of file systems without hard links. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/**
 * Links a damaged blob's file into `damaged/`, named `<digest of the blob>.<digest of the bytes>`, so that the correct
 * bytes can replace it without losing the damaged ones. Nothing ever removes files from that folder.
 */
export async function setAside(dataFolder: string, sha256: string): Promise<void> {
  const file = blobPath(dataFolder, sha256);
  const found = await digestOf(file).catch(() => 'unreadable');
  if (found === undefined || found === sha256) return;
  const folder = join(dataFolder, 'damaged');
  await createFolder(folder);
  await linkOrCopy(file, join(folder, `${sha256}.${found}`));
  await syncFolder(folder);
}

async function linkOrCopy(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    const code = errorCode(error) ?? '';
    // The same damaged bytes were linked before, or the file was removed meanwhile.
    if (code === 'EEXIST' || isMissing(error)) return;
    if (!NO_LINKS.has(code)) throw error;
    await copyFile(from, to, constants.COPYFILE_FICLONE);
  }
}
