import { join } from 'node:path';
import { isDigest } from '../../../shared/digest.ts';

/** Where a blob lies: `blobs/ab/cd/<sha256>`. Only a digest can become a path. */
export function blobPath(folder: string, sha256: string): string {
  if (!isDigest(sha256)) throw new TypeError('Only a digest names a blob.');
  return join(folder, 'blobs', sha256.slice(0, 2), sha256.slice(2, 4), sha256);
}

export function temporaryFolder(folder: string): string {
  return join(folder, 'tmp');
}

/** Where small blobs lie a second time until their own files are known to be on stable storage. */
export function journalFolder(folder: string): string {
  return join(folder, 'journal');
}

/** Where blobs lie that no row names, and that are not known to be leftovers. */
export function lostAndFoundFolder(folder: string): string {
  return join(folder, 'lost-and-found');
}

export function databaseFile(folder: string): string {
  return join(folder, 'strongroom.db');
}
