import type { LostAndFoundFindings, LostFile } from '../../shared/ledger/fixity.ts';
import type { Slice } from '../../shared/values/list.ts';
import { runInThread } from '../runtime/threads.ts';
import type { Store } from '../store/store.ts';

const MAX_LISTED = 1_000;

/**
 * Moves the blobs that no row names, and that no running write is adding, to `lost-and-found/`. Bytes that were given up
 * and are there again are removed. Files that are not blobs are listed and left in place.
 *
 * @throws the signal's reason; blobs that were moved until then stay moved
 */
export async function moveUnnamedBlobs(
  store: Pick<Store, 'folder' | 'blobs'>,
  signal?: AbortSignal,
): Promise<LostAndFoundFindings> {
  const findings = emptyFindings();
  for await (const { unnamed, released, foreign } of unnamedBlobs(store, { signal })) {
    for (const sha256 of released) await store.blobs.remove(sha256);
    for (const { sha256, bytes, found } of unnamed) {
      if (!(await store.blobs.moveToLostAndFound(sha256, found))) continue;
      findings.unnamed_objects += 1;
      if (findings.unnamed.length < MAX_LISTED) findings.unnamed.push({ sha256, bytes });
    }
    addForeign(findings, foreign);
  }
  return withLost(findings, store.blobs.lostFiles);
}

/** A running node may still be adding the row of a file that is younger than this. */
const SETTLED_MS = 600_000;

/** Like `moveUnnamedBlobs`, but only lists: for a folder that a node has open. `lost`: the files in `lost-and-found/`. */
export async function listUnnamedBlobs(
  folder: Pick<Store, 'folder'>,
  lost: readonly LostFile[],
): Promise<LostAndFoundFindings> {
  const findings = emptyFindings();
  for await (const { unnamed, foreign } of unnamedBlobs(folder, { leastAgeMs: SETTLED_MS })) {
    findings.unnamed_objects += unnamed.length;
    const listed = unnamed.slice(0, MAX_LISTED - findings.unnamed.length);
    findings.unnamed.push(...listed.map(({ sha256, bytes }) => ({ sha256, bytes })));
    addForeign(findings, foreign);
  }
  return withLost(findings, lost);
}

export function emptyFindings(): LostAndFoundFindings {
  return {
    unnamed_objects: 0,
    unnamed: [],
    lost_and_found_objects: 0,
    lost_and_found: [],
    foreign_files: 0,
    foreign: [],
  };
}

function addForeign(findings: LostAndFoundFindings, foreign: readonly string[]): void {
  findings.foreign_files += foreign.length;
  findings.foreign.push(...foreign.slice(0, MAX_LISTED - findings.foreign.length));
}

function withLost(findings: LostAndFoundFindings, lost: readonly LostFile[]): LostAndFoundFindings {
  return { ...findings, lost_and_found_objects: lost.length, lost_and_found: lost.slice(0, MAX_LISTED) };
}

/** Returns a page of the files in `lost-and-found/`, by name. */
export function listLostAndFound(
  { blobs }: Pick<Store, 'blobs'>,
  { limit, offset }: { limit: number; offset: number },
): Slice<LostFile> {
  const files = blobs.lostFiles;
  return { items: files.slice(offset, offset + limit), total: files.length };
}

export interface UnnamedBlobsInput {
  folder: string;
  /** The walk starts with the folder after this one, such as `ab/cd`. */
  after: string;
  /** Files that are younger than this are left out. */
  leastAgeMs: number;
}

/** A blob that no row names. */
interface UnnamedBlob {
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
  /** Blobs that were given up and have a file: somebody put it back. */
  released: string[];
  /** Paths, in the data folder, of files and folders under `blobs/` that are not blobs in their place. */
  foreign: string[];
}

/**
 * Walks the files under `blobs/` in a worker thread and yields those that no row names. Only reads. The caller must check
 * whether one of them is just being written.
 */
async function* unnamedBlobs(
  { folder }: Pick<Store, 'folder'>,
  { signal, leastAgeMs = 0 }: { signal?: AbortSignal; leastAgeMs?: number } = {},
): AsyncGenerator<UnnamedBlobs> {
  for (let after = '', isEnd = false; !isEnd; ) {
    const input: UnnamedBlobsInput = { folder, after, leastAgeMs };
    const part = await runInThread<UnnamedBlobs>('unnamedSlice', input, { signal });
    yield part;
    ({ position: after, isEnd } = part);
  }
}
