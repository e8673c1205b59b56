import type { DraftRecord, StoredDraft } from '../../../../../shared/archive/draft.ts';
import { call, isProblem } from '../../../api/client.ts';
import { isTouched, rowKey, useDraft } from '../draft.ts';
import { unfinishedRecord } from '../draftRecord.ts';
import { useDraftFiles } from '../files/draftFiles.ts';
import { setSavedPaths } from './saveFiles.ts';

/** Whether the draft has something to save: changes, or a first file. */
export function hasUnsavedRecord(): boolean {
  const { saved, isChanged } = useDraft.getState();
  return saved ? isChanged : hasContent();
}

/** Whether something was typed or added. */
export function hasContent(): boolean {
  return isTouched(useDraft.getState().draft) || useDraftFiles.getState().files.length > 0;
}

/** Saves the record as it is typed; creates the node's draft if there is none. @throws why it was not saved */
export async function saveRecord(): Promise<void> {
  const { draft, saved, markSaved } = useDraft.getState();
  const body = { record: unfinishedRecord(draft) as DraftRecord, form: { ...draft, writer: writerId() } };
  if (!saved) {
    const { id, revision } = await call('createDraft', { body });
    setSavedPaths([]);
    return markSaved(draft, { id, revision });
  }
  const params = { id: saved.id };
  const send = (revision: number) => call('changeDraft', { params, body: { ...body, revision } });
  try {
    const { revision } = await send(saved.revision);
    markSaved(draft, { id: saved.id, revision });
  } catch (error) {
    if (!isProblem(error, 'draft_changed')) throw error;
    // The node may have saved the last change of this window, whose answer was lost.
    const theirs = await call('readDraft', { params });
    if (!isOfThisWindow(theirs)) throw error;
    const { revision } = await send(theirs.revision);
    markSaved(draft, { id: saved.id, revision });
  }
}

/** Whether a state of the node's draft was saved by this window. */
export function isOfThisWindow({ form }: StoredDraft): boolean {
  return form?.writer === writerId();
}

/** A random word of this window, also after it is reloaded. */
function writerId(): string {
  const key = 'strongroom-writer';
  const known = sessionStorage.getItem(key);
  if (known !== null) return known;
  const made = rowKey();
  sessionStorage.setItem(key, made);
  return made;
}
