import type { PackFile } from '../../../../../shared/archive/pack.ts';
import type { FileChange } from '../../../../../shared/archive/packComparison.ts';
import type { DraftFile } from './draftFile.ts';

/** A file of the draft, or a file of the previous version that the draft does not have. */
export interface FileItem {
  key: string;
  path: string;
  /** Undefined for a first version, and while the file is hashed. */
  change: FileChange | undefined;
  file: DraftFile | undefined;
  previous: PackFile | undefined;
}

/** Lists the files of a draft and those of the previous version that it lacks. */
export function fileItems(files: readonly DraftFile[], previous: readonly PackFile[]): FileItem[] {
  const before = new Map(previous.map((file) => [file.path, file]));
  const present = new Set(files.map(({ path }) => path));
  const items = files.map((file): FileItem => {
    const earlier = before.get(file.path);
    const change = previous.length > 0 ? changeOf(file, earlier) : undefined;
    return { key: file.id, path: file.path, change, file, previous: earlier };
  });
  for (const earlier of previous) {
    if (present.has(earlier.path)) continue;
    const { path } = earlier;
    items.push({ key: `removed ${path}`, path, change: 'removed', file: undefined, previous: earlier });
  }
  return items;
}

function changeOf(file: DraftFile, before: PackFile | undefined): FileChange | undefined {
  if (!before) return 'added';
  if (file.bytes !== before.bytes) return 'changed';
  if (!file.sha256) return undefined;
  return file.sha256 === before.sha256 ? 'same' : 'changed';
}
