import type { LostAndFoundFindings, LostFile } from '../../shared/fixity.ts';
import type { Slice } from '../../shared/list.ts';
import type { Store } from '../store/store.ts';
import { unnamedBlobs } from './unnamedBlobs.ts';

const LISTED = 1_000;

/**
 * Walks the files under `blobs/` and moves those that no row names, and that no write is just bringing, to
 * `lost-and-found/`. What is no blob at all is listed and left alone.
 *
 * @throws the signal's reason; what was moved until then stays moved.
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
      if (findings.unnamed.length < LISTED) findings.unnamed.push({ sha256, bytes });
    }
    addForeign(findings, foreign);
  }
  return withLost(findings, store.blobs.lostFiles);
}

/** A node may be bringing in what came to its place more recently than this. */
const SETTLED_MS = 600_000;

/** As `moveUnnamedBlobs`, beside a node that has the folder open: lists alone. `lost` is what lies in `lost-and-found/`. */
export async function listUnnamedBlobs(
  folder: Pick<Store, 'folder'>,
  lost: readonly LostFile[],
): Promise<LostAndFoundFindings> {
  const findings = emptyFindings();
  for await (const { unnamed, foreign } of unnamedBlobs(folder, { leastAgeMs: SETTLED_MS })) {
    findings.unnamed_objects += unnamed.length;
    const listed = unnamed.slice(0, LISTED - findings.unnamed.length);
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
  findings.foreign.push(...foreign.slice(0, LISTED - findings.foreign.length));
}

function withLost(findings: LostAndFoundFindings, lost: readonly LostFile[]): LostAndFoundFindings {
  return { ...findings, lost_and_found_objects: lost.length, lost_and_found: lost.slice(0, LISTED) };
}

/** A page of what lies in `lost-and-found/`, by names. */
export function listLostAndFound(
  { blobs }: Pick<Store, 'blobs'>,
  { limit, offset }: { limit: number; offset: number },
): Slice<LostFile> {
  const files = blobs.lostFiles;
  return { items: files.slice(offset, offset + limit), total: files.length };
}
