import { runWorker } from '../runtime/runWorker.ts';
import { workerUrl } from '../runtime/workerUrl.ts';
import type { Store } from '../store/store.ts';

export interface UnnamedBlobsInput {
  folder: string;
  /** The walk starts with the folder after this one, such as `ab/cd`. */
  after: string;
  /** Files that are younger than this are left out. */
  leastAgeMs: number;
}

/** A blob that no row names. */
export interface UnnamedBlob {
  sha256: string;
  bytes: number;
  /** The digest of its bytes, or `unreadable`. */
  found: string;
}

/** The result of a few seconds of the walk. */
export interface UnnamedBlobs {
  /** The last folder that was listed. */
  position: string;
  isEnd: boolean;
  unnamed: UnnamedBlob[];
  /** Paths, in the data folder, of files and folders under `blobs/` that are not blobs in their place. */
  foreign: string[];
}

/**
 * Walks the files under `blobs/` in a worker thread and yields those that no row names. Only reads. The caller must check
 * whether one of them is just being written.
 */
export async function* unnamedBlobs(
  { folder }: Pick<Store, 'folder'>,
  { signal, leastAgeMs = 0 }: { signal?: AbortSignal; leastAgeMs?: number } = {},
): AsyncGenerator<UnnamedBlobs> {
  for (let after = '', isEnd = false; !isEnd; ) {
    const input: UnnamedBlobsInput = { folder, after, leastAgeMs };
    const part = await runWorker<UnnamedBlobs>(workerUrl('unnamedBlobs', import.meta.url), input, { signal });
    yield part;
    ({ position: after, isEnd } = part);
  }
}
