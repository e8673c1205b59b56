import type { DamageProblem } from '../../shared/fixity.ts';
import { runWorker, workerUrl } from '../runtime/runWorker.ts';
import type { Store } from '../store/store.ts';

/** What a slice of an audit is to look at. */
export interface AuditSliceInput {
  folder: string;
  /** Begins with the object after this digest. */
  after: string;
  /** Only these objects are looked at, where they are named. */
  only?: readonly string[];
  /** No object is begun that would bring the slice beyond so many bytes; undefined where there is no such end. */
  maxBytes?: number;
  /** Reading is held to this; undefined where it is as fast as it can be. */
  bytesPerSecond?: number;
}

/** What a slice came to. */
export interface AuditSlice {
  /** The digest of the last object that was looked at; that before the slice where there was none. */
  position: string;
  /** Whether no object was left. */
  isEnd: boolean;
  checked: number;
  bytes: number;
  /** Damages, and objects that were recorded as damaged and are right (`problem` null). */
  findings: { sha256: string; bytes: number; problem: DamageProblem | null; found: string | null }[];
}

/**
 * Re-hashes stored objects in a worker thread, in the order of their digests, for a few seconds at most. Reads alone:
 * what is found is for the caller to record.
 *
 * @throws the signal's reason, which ends the thread; an Error where the disk or the system refuses to be read.
 */
export function auditBlobs(
  { folder }: Pick<Store, 'folder'>,
  {
    signal,
    tell,
    ...input
  }: Omit<AuditSliceInput, 'folder'> & { signal?: AbortSignal; tell?: (bytes: number) => void },
): Promise<AuditSlice> {
  return runWorker<AuditSlice, number>(
    workerUrl('auditBlobs', import.meta.url),
    { ...input, folder } satisfies AuditSliceInput,
    {
      signal,
      onProgress: tell,
    },
  );
}
