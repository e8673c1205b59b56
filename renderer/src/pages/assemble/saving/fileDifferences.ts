import type { DraftFile } from '../files/draftFile.ts';

/** How the files that are shown differ from those of the node's draft. */
export interface FileDifferences {
  remove: string[];
  rename: DraftFile[];
  add: DraftFile[];
  uploads: DraftFile[];
}

/**
 * Compares the files that are shown with the paths that the node's draft has. A file whose path another file has too is
 * saved after one of them is renamed, so that neither replaces the other.
 */
export function fileDifferences(
  files: readonly DraftFile[],
  savedPaths: ReadonlySet<string>,
): FileDifferences {
  const sound = placeable(files);
  const uploads = sound.filter(({ file, isStored }) => file && !isStored);
  // An upload replaces the file at its path.
  const wanted = new Set([
    ...files.flatMap(({ savedPath }) => savedPath ?? []),
    ...uploads.map(({ path }) => path),
  ]);
  return {
    remove: [...savedPaths].filter((path) => !wanted.has(path)),
    rename: sound.filter(({ savedPath, path }) => savedPath !== undefined && savedPath !== path),
    add: sound.filter(({ isStored, savedPath }) => isStored && savedPath === undefined),
    uploads,
  };
}

/** Returns the files without a fault whose path no other file has, on the page or on the node. */
function placeable(files: readonly DraftFile[]): DraftFile[] {
  const shown = new Map<string, number>();
  for (const { path } of files) shown.set(path, (shown.get(path) ?? 0) + 1);
  let sound = files.filter(({ error, path }) => error === undefined && shown.get(path) === 1);
  // A file that stays where it is keeps its path from others, which may keep theirs from others again.
  for (;;) {
    const moving = new Set(sound);
    const held = new Set(files.flatMap((file) => (moving.has(file) ? [] : (file.savedPath ?? []))));
    const next = sound.filter(({ path }) => !held.has(path));
    if (next.length === sound.length) return sound;
    sound = next;
  }
}
