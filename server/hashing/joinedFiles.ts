import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { Problem } from '../../shared/problems.ts';
import { runInThread } from '../runtime/runInThread.ts';
import { WorkCoalescer } from '../runtime/workCoalescer.ts';
import { type BlobStore, isMissing, isUnreadable } from '../store/blobs/blobStore.ts';
import type { JoinedDigest } from './hashFileSync.ts';

/** A stored blob. */
interface NamedBlob {
  sha256: string;
  bytes: number;
}

/** The number of threads that hash sets. */
const THREADS = 2;
/** Hashing less than this takes less time than starting a thread. */
const INLINE_BYTES = 1_048_576;
const forSets = new WeakMap<BlobStore, WorkCoalescer<JoinedDigest[]>>();

/**
 * Hashes stored blobs joined one after the other; many bytes in a thread. One that is offloaded is read from a copy.
 *
 * @throws Problem `copy_unreachable`
 */
export async function hashJoined(
  blobs: BlobStore,
  joined: readonly (readonly NamedBlob[])[],
): Promise<JoinedDigest[]> {
  const bytes = joined.flat().reduce((sum, blob) => sum + blob.bytes, 0);
  if (bytes <= INLINE_BYTES) return hashEach(joined, (each) => hashInline(blobs, each));
  let shared = forSets.get(blobs);
  if (!shared) forSets.set(blobs, (shared = new WorkCoalescer(THREADS)));
  const name = joined.map((each) => each.map(({ sha256 }) => sha256).join()).join(';');
  return shared.run(name, () => hashInThread(blobs, joined));
}

async function hashEach(
  joined: readonly (readonly NamedBlob[])[],
  hash: (each: readonly NamedBlob[]) => Promise<JoinedDigest>,
): Promise<JoinedDigest[]> {
  const found: JoinedDigest[] = [];
  for (const each of joined) found.push(await hash(each));
  return found;
}

async function hashInThread(
  blobs: BlobStore,
  joined: readonly (readonly NamedBlob[])[],
): Promise<JoinedDigest[]> {
  const remote = new Set<readonly NamedBlob[]>();
  for (const each of joined) if (await isOffloaded(blobs, each)) remote.add(each);
  const here = joined.filter((each) => !remote.has(each));
  const files = here.map((each) => each.map(({ sha256 }) => blobs.fileOf(sha256)));
  const hashed = await runInThread<JoinedDigest[]>('hashJoined', files);
  const found = new Map(here.map((each, index) => [each, hashed[index]]));
  return hashEach(joined, async (each) => found.get(each) ?? hashInline(blobs, each));
}

async function isOffloaded({ offloaded }: BlobStore, each: readonly NamedBlob[]): Promise<boolean> {
  for (const { sha256 } of each) if (await offloaded.isOffloaded(sha256)) return true;
  return false;
}

async function hashInline(blobs: BlobStore, each: readonly NamedBlob[]): Promise<JoinedDigest> {
  const all = createHash('sha256');
  const found: (string | null)[] = [];
  let crc = 0;
  for (const { sha256 } of each) {
    const hash = createHash('sha256');
    try {
      for await (const chunk of blobs.offloaded.read(sha256)) {
        hash.update(chunk);
        all.update(chunk);
        crc = crc32(chunk, crc);
      }
      found.push(hash.digest('hex'));
    } catch (error) {
      const isDamaged = error instanceof Problem && error.code === 'blob_damaged';
      if (!isDamaged && !isMissing(error) && !isUnreadable(error)) throw error;
      found.push(null);
    }
  }
  return { sha256: found.includes(null) ? null : all.digest('hex'), crc, blobs: found };
}
