import { runWorker, workerUrl } from '../runtime/runWorker.ts';
import type { Store } from '../store/store.ts';

export interface UnnamedBlobsInput {
  folder: string;
  /** Begins with the folder after this one, as in `ab/cd`. */
  after: string;
  /** Files that came to their place more recently are left out. */
  leastAgeMs: number;
}

/** A blob that no row names. */
export interface UnnamedBlob {
  sha256: string;
  bytes: number;
  /** The digest of its bytes, or `unreadable`. */
  found: string;
}

/** What a walk came to in a few seconds. */
export interface UnnamedBlobs {
  /** The last folder that was looked at. */
  position: string;
  isEnd: boolean;
  unnamed: UnnamedBlob[];
  /** Files and folders under `blobs/` that are no blobs in their place, by their paths in the data folder. */
  foreign: string[];
}

/**
 * Walks the files under `blobs/` in a worker thread and lists those that no row names. Reads alone: whether one of them
 * is just being written is for the caller to know.
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
