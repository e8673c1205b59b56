import { create } from 'zustand';
import type { Pack } from '../../../../../shared/archive/pack.ts';
import { call, isProblem } from '../../../api/client.ts';
import { useIsOwner } from '../../../state/session.ts';
import { type Draft, type SavedDraft, useDraft } from '../draft.ts';
import { useDraftFiles } from '../files/draftFiles.ts';
import { openFirst, readIfThere, show, showEmpty } from './openDraft.ts';
import { hasOtherFiles, needsSaving, setSavedPaths } from './saveFiles.ts';
import { hasUnsavedRecord, isAsCreated, saveRecord } from './saveRecord.ts';
import { runningSave, saveUnsaved } from './saveUnsaved.ts';

export type Saving =
  /** A visitor's draft, which only this browser has. */
  | { state: 'local' }
  | { state: 'opening' }
  /** The node did not give the draft that this person had last. */
  | { state: 'unopened'; error: unknown }
  | { state: 'saving' }
  | { state: 'saved' }
  | { state: 'failed'; error: unknown }
  /** Another window changed the draft. */
  | { state: 'changed elsewhere' };

interface DraftSavingState {
  saving: Saving;
  /** Opens the owner's draft of the node and saves changes from now on. */
  start: () => Promise<void>;
  /** Saves nothing more on the node, because the owner has signed out. */
  stop: () => void;
  /** Saves everything now. @throws why it could not be saved */
  flush: () => Promise<SavedDraft>;
  /** Shows a draft of the node, after the current one was saved. */
  open: (id: string) => Promise<void>;
  /** Starts a draft, after the current one was saved. */
  startNew: (draft?: Draft) => Promise<void>;
  /** Deletes the current draft. */
  discard: () => Promise<void>;
  /** Publishes the draft as it is now. Repeated after a lost answer, it gives the same pack. */
  publish: () => Promise<Pack>;
  /** Clears the form after publishing. */
  end: () => void;
  /** After another window changed the draft: shows that state, or replaces it with this one. */
  resolve: (choice: 'theirs' | 'mine') => Promise<void>;
}

const SAVE_AFTER_MS = 400;
const RETRY_AFTER_MS = 5_000;

/** Saves the owner's draft on the node. */
export const useDraftSaving = create<DraftSavingState>()(() => ({
  saving: { state: 'local' },
  start: () => (started ??= begin()),
  stop,
  flush,
  open: async (id) => {
    await leave();
    show(await call('readDraft', { params: { id } }));
  },
  startNew,
  discard,
  publish,
  end: showEmpty,
  resolve,
}));
const { getState: get, setState: set } = useDraftSaving;

let started: Promise<void> | undefined;
/** Aborted when the owner signs out. */
let signedIn = new AbortController();
let timer: ReturnType<typeof setTimeout> | undefined;

async function begin(): Promise<void> {
  const { signal } = signedIn;
  set({ saving: { state: 'opening' } });
  try {
    await useDraftFiles.getState().restore();
    await openFirst();
  } catch (error) {
    if (signal.aborted) return;
    // What this browser has is shown and saved later.
    set({ saving: { state: 'unopened', error } });
    started = undefined;
    return;
  }
  if (signal.aborted) return;
  set({ saving: { state: 'saved' } });
  for (const unsubscribe of [useDraft.subscribe(saveSoon), useDraftFiles.subscribe(saveSoon)])
    signal.addEventListener('abort', unsubscribe);
  window.addEventListener('focus', () => void readAgain(), { signal });
  window.addEventListener('pagehide', () => void saveAndShow(), { signal });
  saveSoon();
}

function stop(): void {
  if (get().saving.state === 'local') return;
  signedIn.abort();
  signedIn = new AbortController();
  started = undefined;
  clearTimeout(timer);
  // What the node has is there when the owner is back. A visitor could only publish it a second time.
  const { saved, isChanged } = useDraft.getState();
  if (saved && !isChanged && !needsSaving()) showEmpty();
  set({ saving: { state: 'local' } });
}

/** Shows a state of the saving, unless the owner has signed out meanwhile. */
function report(saving: Saving): void {
  if (get().saving.state !== 'local') set({ saving });
}

/** Shows what another window saved, unless there are changes here. */
async function readAgain(): Promise<void> {
  const { saved, isChanged } = useDraft.getState();
  if (!saved || isChanged || needsSaving() || runningSave()) return;
  const draft = await call('readDraft', { params: { id: saved.id } }).catch(() => undefined);
  const { saved: now, isChanged: isTyping } = useDraft.getState();
  if (draft?.pack !== null || now?.id !== draft.id || isTyping || needsSaving()) return;
  if (now.revision !== draft.revision || hasOtherFiles(draft.files))
    show(draft, useDraftFiles.getState().files);
}

function save(): Promise<void> {
  clearTimeout(timer);
  return saveUnsaved();
}

function saveSoon(): void {
  if (!hasUnsavedRecord() && !needsSaving()) return;
  if (get().saving.state === 'saved') set({ saving: { state: 'saving' } });
  clearTimeout(timer);
  timer = setTimeout(() => void saveAndShow(), SAVE_AFTER_MS);
}

async function saveAndShow(): Promise<void> {
  if (get().saving.state === 'changed elsewhere') return;
  report({ state: 'saving' });
  try {
    await save();
    report({ state: 'saved' });
  } catch (error) {
    showFailure(error);
    if (get().saving.state === 'failed') timer = setTimeout(() => void saveAndShow(), RETRY_AFTER_MS);
  }
}

function showFailure(error: unknown): void {
  const isConflict = isProblem(error, 'draft_changed');
  report(isConflict ? { state: 'changed elsewhere' } : { state: 'failed', error });
}

async function flush(): Promise<SavedDraft> {
  await get().start();
  const { saving } = get();
  if (saving.state === 'unopened') throw saving.error;
  report({ state: 'saving' });
  try {
    await save();
    if (!useDraft.getState().saved) await saveRecord();
    report({ state: 'saved' });
    return useDraft.getState().saved as SavedDraft;
  } catch (error) {
    showFailure(error);
    throw error;
  }
}

/** Saves the current draft before another one is shown. */
async function leave(): Promise<void> {
  if (hasUnsavedRecord() || needsSaving()) await flush();
}

async function startNew(draft?: Draft): Promise<void> {
  if (get().saving.state !== 'local') await leave();
  showEmpty();
  if (draft) useDraft.getState().replace(draft);
}

async function discard(): Promise<void> {
  clearTimeout(timer);
  await runningSave()?.catch(() => {});
  // A save that ran may just have created the node's draft.
  const { saved, newId } = useDraft.getState();
  const id = saved?.id ?? newId;
  const stored = id === undefined ? undefined : await readIfThere(id);
  // The answer to the first save may have been lost. A draft that somebody else continued meanwhile stays.
  if (stored && (saved || isAsCreated(stored))) await call('deleteDraft', { params: { id: stored.id } });
  showEmpty();
}

async function publish(): Promise<Pack> {
  const { id, revision } = await flush();
  const draft = await call('readDraft', { params: { id } });
  if (draft.pack === null && (draft.revision !== revision || hasOtherFiles(draft.files))) {
    report({ state: 'changed elsewhere' });
    throw new Error('Another window changed this draft. Choose the version to publish.');
  }
  return call('publishDraft', { params: { id }, query: { revision } });
}

async function resolve(choice: 'theirs' | 'mine'): Promise<void> {
  const { saved } = useDraft.getState();
  if (!saved) return;
  const theirs = await call('readDraft', { params: { id: saved.id } });
  report({ state: 'saved' });
  if (choice === 'theirs') return show(theirs);
  useDraft.setState({ saved: { id: saved.id, revision: theirs.revision }, isChanged: true });
  // Files that only the other window added are removed.
  setSavedPaths(theirs.files.map(({ path }) => path));
  await saveAndShow();
}

/**
 * Whether the draft is shown that this person had last. Before that, a draft that is started would be lost, and one that
 * is published would not be the one that was seen.
 */
export function useIsDraftOpen(): boolean {
  const isOwner = useIsOwner();
  const isRestored = useDraftFiles((state) => state.isRestored);
  const state = useDraftSaving(({ saving }) => saving.state);
  return isOwner ? !['local', 'opening', 'unopened'].includes(state) : isRestored;
}
