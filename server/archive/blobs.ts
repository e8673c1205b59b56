import type { FoundDigest } from '../../shared/archive/citation.ts';
import { Problem } from '../../shared/problems.ts';
import { isDigest } from '../../shared/values/digest.ts';
import { packsWithBlob } from '../store/sqlite/archive/packs.ts';
import { blobRow, findDigests } from '../store/sqlite/node/blobs.ts';
import type { Store } from '../store/store.ts';

/** A blob of the archive and the path of its file. */
export interface ReadableBlob {
  file: string;
  sha256: string;
  bytes: number;
  storedAt: string;
}

/** @throws Problem `invalid_digest`, `not_found` */
export function readBlob({ read, blobs }: Pick<Store, 'read' | 'blobs'>, sha256: string): ReadableBlob {
  if (!isDigest(sha256)) {
    throw new Problem('invalid_digest', 'The digest of a blob must be 64 lowercase hex digits.');
  }
  const row = blobRow(read, sha256);
  if (!row) throw new Problem('not_found', 'The archive has no blob with this digest.');
  return { file: blobs.fileOf(sha256), sha256, bytes: row.bytes, storedAt: row.stored_at };
}

/** Returns where the archive has each of these digests; those that it does not have are left out. */
export function lookUpDigests({ read }: Pick<Store, 'read'>, digests: readonly string[]): FoundDigest[] {
  return findDigests(read, digests).map(({ sha256, bytes, pack, path, source, url }) => ({
    sha256,
    bytes,
    pack: pack !== null && path !== null ? { id: pack, path } : null,
    source: source !== null && url !== null ? { id: source, url } : null,
  }));
}

/** A blob in more packs has no links to them. */
const MAX_LINKED_PACKS = 5;

/** Returns the ids of the packs with this blob, oldest first; none if there are more than a few. */
export function packsOfBlob({ read }: Pick<Store, 'read'>, sha256: string): string[] {
  const packs = packsWithBlob(read, sha256, MAX_LINKED_PACKS + 1);
  return packs.length > MAX_LINKED_PACKS ? [] : packs;
}
