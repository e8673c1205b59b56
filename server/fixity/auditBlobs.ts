import type { DamageProblem } from '../../shared/ledger/fixity.ts';
import { runWorker } from '../runtime/runWorker.ts';
import { workerUrl } from '../runtime/workerUrl.ts';
import type { Store } from '../store/store.ts';

/** Which blobs a slice of an audit checks. */
export interface AuditSliceInput {
  folder: string;
  /** The slice starts with the blob after this digest. */
  after: string;
  /** Check only these digests. */
  only?: readonly string[];
  /** The slice ends before the blob that would exceed this number of bytes. */
  maxBytes?: number;
  /** The maximum rate of reading; unlimited if undefined. */
  bytesPerSecond?: number;
}

/** The result of a slice. */
export interface AuditSlice {
  /** The digest of the last checked blob; `after` if none was checked. */
  position: string;
  /** Whether there are no more blobs. */
  isEnd: boolean;
  checked: number;
  /** Blobs that were not checked, because they have left this disk for a copy. */
  elsewhere: number;
  bytes: number;
  /** Damaged blobs, and blobs that are recorded as damaged and are intact (`problem` null). */
  findings: { sha256: string; bytes: number; problem: DamageProblem | null; found: string | null }[];
}

/**
 * Re-hashes stored blobs in a worker thread, in the order of their digests, for a few seconds at most. Only reads: the
 * caller records the findings.
 *
 * @throws the signal's reason, after ending the thread; Error if the disk cannot be read
 */
export function auditBlobs(
  { folder }: Pick<Store, 'folder'>,
  {
    signal,
    onProgress,
    ...input
  }: Omit<AuditSliceInput, 'folder'> & { signal?: AbortSignal; onProgress?: (bytes: number) => void },
): Promise<AuditSlice> {
  return runWorker<AuditSlice, number>(
    workerUrl('auditBlobs', import.meta.url),
    { ...input, folder } satisfies AuditSliceInput,
    {
      signal,
      onProgress,
    },
  );
}
