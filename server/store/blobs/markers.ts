import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { isDigest } from '../../../shared/values/digestPattern.ts';
import { temporaryFolder } from './paths.ts';

/**
 * A marker is an empty file in `tmp/` for a blob whose write is in progress. `keeping`: the write in progress created
 * the file in `blobs/`. `found`: a file of this name existed before, so it may not be a leftover of that write. A marker
 * exists from before the rename until the write ends. It is not synced: a blob without it that no row references is
 * never deleted.
 */
export type Mark = 'keeping' | 'found';

const MARKER = /^(keeping|found)-(.*)$/;

export function markerFile(dataFolder: string, mark: Mark, sha256: string): string {
  return join(temporaryFolder(dataFolder), `${mark}-${sha256}`);
}

export function writeMarker(dataFolder: string, mark: Mark, sha256: string): void {
  closeSync(openSync(markerFile(dataFolder, mark, sha256), 'w', 0o600));
}

/** Returns the markers among these file names, by the digest of the blob. */
export function parseMarkers(names: readonly string[]): Map<string, Mark[]> {
  const marks = new Map<string, Mark[]>();
  for (const name of names) {
    const [, mark, sha256 = ''] = MARKER.exec(name) ?? [];
    if (isDigest(sha256)) marks.set(sha256, [...(marks.get(sha256) ?? []), mark as Mark]);
  }
  return marks;
}
