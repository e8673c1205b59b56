import type { LostAndFoundFindings, LostFile } from '../../shared/ledger/fixity.ts';
import type { Slice } from '../../shared/values/list.ts';
import type { Store } from '../store/store.ts';
import { unnamedBlobs } from './unnamedBlobs.ts';

const MAX_LISTED = 1_000;

/**
 * Moves the blobs that no row names, and that no running write is adding, to `lost-and-found/`. Files that are not blobs
 * are listed and left in place.
 *
 * @throws the signal's reason; blobs that were moved until then stay moved
 */
export async function moveUnnamedBlobs(
  store: Pick<Store, 'folder' | 'blobs'>,
  signal?: AbortSignal,
): Promise<LostAndFoundFindings> {
  const findings = emptyFindings();
  for await (const { unnamed, foreign } of unnamedBlobs(store, { signal })) {
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
