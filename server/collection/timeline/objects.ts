import { contentEncodingOf, type ObjectMetadata } from '../../../shared/collection/retrieval.ts';
import { Problem } from '../../../shared/problems.ts';
import { isDigest } from '../../../shared/values/digest.ts';
import { confirmDamage, type DamageContext } from '../../fixity/audit.ts';
import { rehashForReader } from '../../hashing/hashFiles.ts';
import {
  contentTypeOfObject,
  hasObject,
  retrievalsOfObject,
} from '../../store/sqlite/collection/retrievals.ts';
import { blobBytes } from '../../store/sqlite/node/blobs.ts';
import type { Store } from '../../store/store.ts';
import { marksOf } from '../../withholding/withholding.ts';

/** An archived object, and the content type it is served with. */
export interface ArchivedObject {
  file: string;
  sha256: string;
  bytes: number;
  contentType: string;
}

/** @throws Problem `invalid_digest`; `not_found` if no retrieval brought it. */
export function readObject({ read, blobs }: Pick<Store, 'read' | 'blobs'>, sha256: string): ArchivedObject {
  const bytes = requireObject(read, sha256);
  const contentType = contentTypeOfObject(read, sha256) ?? 'application/octet-stream';
  return { file: blobs.fileOf(sha256), sha256, bytes, contentType };
}

/**
 * Returns every retrieval that brought an object, newest first, whether its stored bytes currently match its digest, and
 * who may read them.
 *
 * @throws Problem `invalid_digest`, `not_found`.
 */
export async function readObjectMetadata(store: DamageContext, sha256: string): Promise<ObjectMetadata> {
  const bytes = requireObject(store.read, sha256);
  const { released } = marksOf(store.read, sha256);
  const intact =
    !released && (await rehashForReader(store.blobs, [{ sha256, bytes }])).get(sha256) === sha256;
  if (!intact && !released) await confirmDamage(store, [sha256]);
  const facts = objectFacts(store.read, sha256);
  const retrievals = facts.retrievals.map((each) => ({ ...each, intact }));
  return { ...facts, bytes, retrievals, ...marksOf(store.read, sha256) };
}

/** Returns what is known of an object without reading its bytes: every retrieval that brought it, newest first. */
export function objectFacts(read: Store['read'], sha256: string) {
  const retrievals = retrievalsOfObject(read, sha256).map((retrieval) => ({
    url: retrieval.url,
    time: retrieval.observed_at,
    status: retrieval.status,
    content_type: retrieval.content_type,
    content_encoding: contentEncodingOf(retrieval.headers),
    observer: retrieval.observer,
    original_observed_at: retrieval.original_observed_at,
    part_of: retrieval.part_of,
    connection: retrieval.connection,
  }));
  return { sha256, bytes: blobBytes(read, sha256) ?? 0, ...observersOf(retrievals), retrievals };
}

/** Returns who brought an object, and whether two observers brought it from the same address. */
function observersOf(retrievals: readonly { url: string; observer: string }[]) {
  const byAddress = new Map<string, Set<string>>();
  for (const { url, observer } of retrievals)
    byAddress.set(url, (byAddress.get(url) ?? new Set()).add(observer));
  const observers = new Set([...byAddress.values()].flatMap((of) => [...of]));
  return {
    observers: [...observers].sort(),
    corroborated: [...byAddress.values()].some((of) => of.size > 1),
  };
}

/** Returns the size of an archived object. @throws Problem `invalid_digest`, `not_found`. */
export function requireObject(read: Store['read'], sha256: string): number {
  if (!isDigest(sha256))
    throw new Problem('invalid_digest', 'An object is identified by its SHA-256: 64 lowercase hex digits.');
  const bytes = hasObject(read, sha256) ? blobBytes(read, sha256) : undefined;
  if (bytes === undefined) throw new Problem('not_found', 'The archive holds no object with this digest.');
  return bytes;
}
