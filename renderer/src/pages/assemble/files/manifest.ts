import type { DraftFile } from './draftFiles.ts';

/** What is known of the draft's files beside their bytes; small, and so kept where the record is. */
export type ManifestEntry = Pick<DraftFile, 'id' | 'path' | 'mediaType' | 'bytes' | 'sha256'>;

const KEY = 'strongroom-draft-files';

/** Answers whether the browser keeps it. */
export function keepManifest(files: readonly DraftFile[]): boolean {
  const entries = files.map(
    ({ id, path, mediaType, bytes, sha256 }): ManifestEntry => ({ id, path, mediaType, bytes, sha256 }),
  );
  try {
    localStorage.setItem(KEY, JSON.stringify(entries));
    return true;
  } catch {
    return false;
  }
}

export function readManifest(): ManifestEntry[] {
  const text = localStorage.getItem(KEY);
  return text ? (JSON.parse(text) as ManifestEntry[]) : [];
}
