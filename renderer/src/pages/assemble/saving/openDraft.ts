import type { StoredDraft } from '../../../../../shared/archive/draft.ts';
import { call, isProblem } from '../../../api/client.ts';
import { emptyDraft, useDraft } from '../draft.ts';
import type { DraftFile } from '../files/draftFile.ts';
import { useDraftFiles } from '../files/draftFiles.ts';
import { draftOf, filesOf } from './openedDraft.ts';
import { setSavedPaths } from './saveFiles.ts';
import { hasContent, isOfThisWindow } from './saveRecord.ts';

/**
 * Opens the draft that this browser had last, or the last one of the node. What only this browser has is kept and saved:
 * changes that were not saved yet, and a draft of an earlier release.
 */
export async function openFirst(): Promise<void> {
  const before = useDraft.getState().saved;
  const known = before && (await readIfThere(before.id));
  // Read after each answer, because somebody may have begun to type meanwhile.
  const { saved, isChanged } = useDraft.getState();
  const { files } = useDraftFiles.getState();
  if (known?.pack === null) {
    if (!isChanged) return show(known, files);
    // The node may have saved the last change of this window, whose answer was lost.
    if (isOfThisWindow(known)) useDraft.setState({ saved: { id: known.id, revision: known.revision } });
    return openFiles(known, files);
  }
  // It was published or deleted in another window. Only unsaved changes are kept.
  const isGone = saved !== undefined && !isChanged;
  if (isGone) showEmpty();
  else if (saved) startFrom(files);
  if (hasContent()) return;
  const [last] = (await call('listDrafts', { query: { limit: 1 } })).items;
  const opened = last && (await readIfThere(last.id));
  if (opened && !hasContent()) show(opened);
}

/** Makes what this browser has a draft of its own. */
function startFrom(files: readonly DraftFile[]): void {
  useDraft.setState({ saved: undefined });
  useDraftFiles.getState().open(files.map((file) => ({ ...file, savedPath: undefined })));
}

/** Returns a draft, or undefined if it was deleted. */
export async function readIfThere(id: string): Promise<StoredDraft | undefined> {
  try {
    return await call('readDraft', { params: { id } });
  } catch (error) {
    if (isProblem(error, 'not_found')) return undefined;
    throw error;
  }
}

/**
 * Shows a draft of the node.
 *
 * @param local the files of the same draft that this browser has
 */
export function show(stored: StoredDraft, local: readonly DraftFile[] = []): void {
  useDraft.getState().open(draftOf(stored), { id: stored.id, revision: stored.revision });
  openFiles(stored, local);
}

function openFiles(stored: StoredDraft, local: readonly DraftFile[]): void {
  setSavedPaths(stored.files.map(({ path }) => path));
  useDraftFiles.getState().open(filesOf(stored, local));
}

/** Shows an empty form, which is no draft of the node yet. */
export function showEmpty(): void {
  setSavedPaths([]);
  useDraft.getState().open(emptyDraft(), undefined);
  useDraftFiles.getState().open([]);
}
