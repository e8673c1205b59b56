import pLimit from 'p-limit';
import type { PackFile } from '../../../shared/archive/pack.ts';
import { isDamaged } from '../../fixity/damages.ts';
import { type StagedBlob, TooManyBytesError } from '../../store/blobs/blobStore.ts';
import { blobBytes } from '../../store/sqlite/node/blobs.ts';
import type { Mirroring } from './mirroring.ts';
import { RefusedRecordError } from './mirrorTally.ts';

/** Files of one pack at once. */
const FILES_AT_ONCE = 4;

export interface FetchedFiles {
  /** The files that the archive did not have, by path. */
  staged: Map<string, StagedBlob>;
  objects: number;
  bytes: number;
}

/**
 * Fetches the files of a pack that the archive does not hold intact. Each byte is hashed while it arrives. If one has
 * another digest or size, all of them are discarded.
 *
 * @throws RefusedRecordError `wrong_bytes`; PeerError
 */
export async function fetchPackFiles(
  mirroring: Pick<Mirroring, 'store' | 'client' | 'signal'>,
  files: readonly PackFile[],
): Promise<FetchedFiles> {
  const { read } = mirroring.store;
  const missing = files.filter(
    ({ sha256, bytes }) => blobBytes(read, sha256) !== bytes || isDamaged(read, sha256),
  );
  const byDigest = Map.groupBy(missing, ({ sha256 }) => sha256);
  const atOnce = pLimit(FILES_AT_ONCE);
  const staged = new Map<string, StagedBlob>();
  const fetches = [...byDigest].map(([sha256, [file, ...others]]) =>
    atOnce(async () => {
      if (!file) return;
      const blob = await fetchObject(mirroring, sha256, file.bytes);
      for (const { path } of [file, ...others]) staged.set(path, blob);
    }),
  );
  const outcomes = await Promise.allSettled(fetches);
  const failed = outcomes.find(({ status }) => status === 'rejected');
  const blobs = new Set(staged.values());
  if (failed?.status === 'rejected') {
    await Promise.all([...blobs].map((blob) => blob.discard()));
    throw failed.reason;
  }
  return { staged, objects: blobs.size, bytes: [...blobs].reduce((sum, { bytes }) => sum + bytes, 0) };
}

/** Fetches one object into staging. @throws RefusedRecordError `wrong_bytes`; PeerError */
async function fetchObject(
  { store, client, signal }: Pick<Mirroring, 'store' | 'client' | 'signal'>,
  sha256: string,
  bytes: number,
): Promise<StagedBlob> {
  signal.throwIfAborted();
  let staged: StagedBlob;
  try {
    staged = await store.blobs.staging.stage(client.stream(`/api/blobs/${sha256}`), bytes);
  } catch (error) {
    if (error instanceof TooManyBytesError) throw new RefusedRecordError('wrong_bytes', error);
    throw error;
  }
  if (staged.sha256 === sha256 && staged.bytes === bytes) return staged;
  await staged.discard();
  throw new RefusedRecordError('wrong_bytes');
}
