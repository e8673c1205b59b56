import { join } from 'node:path';
import { isDigest } from '../../../shared/values/digestPattern.ts';

/** The path of a blob: `blobs/ab/cd/<sha256>`. @throws TypeError if it is not a digest */
export function blobPath(folder: string, sha256: string): string {
  if (!isDigest(sha256)) throw new TypeError('A blob is named by a SHA-256 digest in hex.');
  return join(folder, 'blobs', sha256.slice(0, 2), sha256.slice(2, 4), sha256);
}

export function temporaryFolder(folder: string): string {
  return join(folder, 'tmp');
}

/** The folder of the journal: a second copy of small blobs, until their own files are synced. */
export function journalFolder(folder: string): string {
  return join(folder, 'journal');
}

/** The folder of blobs that no row references and that are not known to be leftovers. */
export function lostAndFoundFolder(folder: string): string {
  return join(folder, 'lost-and-found');
}

/** The folder of the files of drafts: `drafts/<draft>/<sha256>`. */
export function draftsFolder(folder: string): string {
  return join(folder, 'drafts');
}

export function databaseFile(folder: string): string {
  return join(folder, 'strongroom.db');
}
