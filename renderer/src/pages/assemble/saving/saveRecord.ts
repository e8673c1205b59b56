import type { DraftRecord, StoredDraft } from '../../../../../shared/archive/draft.ts';
import type { BodyInputOf } from '../../../../../shared/routes/route.ts';
import type { RouteTable } from '../../../../../shared/routes.ts';
import { call, isProblem } from '../../../api/client.ts';
import { type Draft, isTouched, rowKey, useDraft } from '../draft.ts';
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
  if (!saved) return createDraft(draft, body);
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

/**
 * Creates the node's draft. If its answer was lost before, the node has the draft already. Then it is only adopted, and
 * the next save changes it.
 */
async function createDraft(draft: Draft, body: BodyInputOf<RouteTable['createDraft']>): Promise<void> {
  const id = useDraft.getState().newId ?? newDraftId();
  useDraft.setState({ newId: id });
  const stored = await call('createDraft', { body: { ...body, id } });
  if (!isAsCreated(stored)) {
    // Somebody continued that draft. What they saved must stay, so this window gets a draft of its own.
    useDraft.setState({ newId: undefined });
    return createDraft(draft, body);
  }
  setSavedPaths([]);
  useDraft.getState().markSaved(draft, { id, revision: stored.revision });
  if (JSON.stringify(stored.form) !== JSON.stringify(body.form)) useDraft.setState({ isChanged: true });
}

/** Whether only this window has saved the draft, and not published it. */
export function isAsCreated(stored: StoredDraft): boolean {
  return stored.pack === null && stored.files.length === 0 && isOfThisWindow(stored);
}

function newDraftId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(10));
  return `dr_${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
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
