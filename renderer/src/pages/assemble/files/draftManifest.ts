import type { DraftFile } from './draftFile.ts';

/** The metadata of a draft file. It is small, so it is stored with the record. */
export type ManifestEntry = Pick<
  DraftFile,
  'id' | 'path' | 'mediaType' | 'bytes' | 'sha256' | 'isStored' | 'savedPath'
>;

const KEY = 'strongroom-draft-files';

/** Returns whether the browser stored it. */
export function saveManifest(files: readonly DraftFile[]): boolean {
  const entries = files.map(
    ({ id, path, mediaType, bytes, sha256, isStored, savedPath }): ManifestEntry => ({
      id,
      path,
      mediaType,
      bytes,
      sha256,
      isStored,
      savedPath,
    }),
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
  const entries = text
    ? (JSON.parse(text) as (Omit<ManifestEntry, 'isStored' | 'savedPath'> & Partial<ManifestEntry>)[])
    : [];
  // Drafts of earlier releases are not saved on the node.
  return entries.map((entry) => ({
    ...entry,
    isStored: entry.isStored ?? false,
    savedPath: entry.savedPath,
  }));
}
