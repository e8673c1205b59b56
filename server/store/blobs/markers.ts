import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { isDigest } from '../../../shared/digest.ts';
import { temporaryFolder } from './paths.ts';

/**
 * What a small file in `tmp/` says of a blob that is under way and not known by the journal alone: that its file in
 * `blobs/` was put there by a write that is not over (`keeping`), or that there was a file of this name before
 * (`found`), so that it is not known to be a leftover of that write. It is there from before the blob has its name
 * until the write is over. It is not synced: without it the blob is one that no row names, and is never deleted.
 */
export type Mark = 'keeping' | 'found';

const MARKER = /^(keeping|found)-(.*)$/;

export function markerFile(dataFolder: string, mark: Mark, sha256: string): string {
  return join(temporaryFolder(dataFolder), `${mark}-${sha256}`);
}

export function writeMarker(dataFolder: string, mark: Mark, sha256: string): void {
  closeSync(openSync(markerFile(dataFolder, mark, sha256), 'w', 0o600));
}

/** What the names of the files in `tmp/` say, by the digests of the blobs. */
export function marksIn(names: readonly string[]): Map<string, Mark[]> {
  const marks = new Map<string, Mark[]>();
  for (const name of names) {
    const [, mark, sha256 = ''] = MARKER.exec(name) ?? [];
    if (isDigest(sha256)) marks.set(sha256, [...(marks.get(sha256) ?? []), mark as Mark]);
  }
  return marks;
}
