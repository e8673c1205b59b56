import { create } from 'zustand';
import type { Pack } from '../../../../../shared/archive/pack.ts';
import { call, isProblem } from '../../../api/client.ts';
import { useIsOwner } from '../../../state/session.ts';
import { type Draft, type SavedDraft, useDraft } from '../draft.ts';
import { useDraftFiles } from '../files/draftFiles.ts';
import { openFirst, readIfThere, show, showEmpty } from './openDraft.ts';
import { hasOtherFiles, needsSaving, saveFiles, setSavedPaths } from './saveFiles.ts';
import { hasUnsavedRecord, saveRecord } from './saveRecord.ts';

export type Saving =
  /** A visitor's draft, which only this browser has. */
  | { state: 'local' }
  | { state: 'opening' }
  | { state: 'saving' }
  | { state: 'saved' }
  | { state: 'failed'; error: unknown }
  /** Another window changed the draft. */
  | { state: 'changed elsewhere' };

interface DraftSavingState {
  saving: Saving;
  /** Opens the owner's draft of the node and saves changes from now on. */
  start: () => Promise<void>;
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
export const useDraftSaving = create<DraftSavingState>()((set, get) => {
  let started: Promise<void> | undefined;
  let isOpen = false;
  let running: Promise<void> | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const saveAll = async (): Promise<void> => {
    for (;;) {
      if (hasUnsavedRecord()) await saveRecord();
      const { saved } = useDraft.getState();
      if (saved && needsSaving()) await saveFiles(saved.id);
      else if (!hasUnsavedRecord()) return;
    }
  };
  /** Runs one save at a time. */
  const save = (): Promise<void> => {
    clearTimeout(timer);
    running ??= saveAll().finally(() => {
      running = undefined;
    });
    return running;
  };
  const saveAndShow = async (): Promise<void> => {
    if (get().saving.state === 'changed elsewhere') return;
    set({ saving: { state: 'saving' } });
    try {
      await save();
      set({ saving: { state: 'saved' } });
    } catch (error) {
      showFailure(error);
      if (get().saving.state === 'failed') timer = setTimeout(() => void saveAndShow(), RETRY_AFTER_MS);
    }
  };
  const showFailure = (error: unknown) => {
    const isConflict = isProblem(error, 'draft_changed');
    set({ saving: isConflict ? { state: 'changed elsewhere' } : { state: 'failed', error } });
  };
  const saveSoon = () => {
    if (!hasUnsavedRecord() && !needsSaving()) return;
    if (get().saving.state === 'saved') set({ saving: { state: 'saving' } });
    clearTimeout(timer);
    timer = setTimeout(() => void saveAndShow(), SAVE_AFTER_MS);
  };

  const begin = async () => {
    set({ saving: { state: 'opening' } });
    await useDraftFiles.getState().restore();
    try {
      await openFirst();
    } catch (error) {
      // What this browser has is shown and saved later.
      set({ saving: { state: 'failed', error } });
      started = undefined;
      return;
    }
    isOpen = true;
    set({ saving: { state: 'saved' } });
    useDraft.subscribe(saveSoon);
    useDraftFiles.subscribe(saveSoon);
    window.addEventListener('focus', () => void readAgain());
    window.addEventListener('pagehide', () => void saveAndShow());
    saveSoon();
  };
  /** Shows what another window saved, unless there are changes here. */
  const readAgain = async () => {
    const { saved, isChanged } = useDraft.getState();
    if (!saved || isChanged || needsSaving() || running) return;
    const draft = await call('readDraft', { params: { id: saved.id } }).catch(() => undefined);
    const { saved: now, isChanged: isTyping } = useDraft.getState();
    if (draft?.pack !== null || now?.id !== draft.id || isTyping || needsSaving()) return;
    if (now.revision !== draft.revision || hasOtherFiles(draft.files))
      show(draft, useDraftFiles.getState().files);
  };
  const flush = async () => {
    await get().start();
    const { saving } = get();
    if (!isOpen && saving.state === 'failed') throw saving.error;
    set({ saving: { state: 'saving' } });
    try {
      await save();
      if (!useDraft.getState().saved) await saveRecord();
      set({ saving: { state: 'saved' } });
      return useDraft.getState().saved as SavedDraft;
    } catch (error) {
      showFailure(error);
      throw error;
    }
  };
  const leave = async () => {
    if (hasUnsavedRecord() || needsSaving()) await flush();
  };

  return {
    saving: { state: 'local' },
    start: () => (started ??= begin()),
    flush,
    open: async (id) => {
      await leave();
      show(await call('readDraft', { params: { id } }));
    },
    startNew: async (draft) => {
      if (get().saving.state !== 'local') await leave();
      showEmpty();
      if (draft) useDraft.getState().replace(draft);
    },
    discard: async () => {
      const { saved } = useDraft.getState();
      await running?.catch(() => {});
      if (saved && (await readIfThere(saved.id))) await call('deleteDraft', { params: { id: saved.id } });
      showEmpty();
    },
    publish: async () => {
      const { id } = await flush();
      const draft = await call('readDraft', { params: { id } });
      if (draft.pack === null && hasOtherFiles(draft.files)) {
        set({ saving: { state: 'changed elsewhere' } });
        throw new Error('Another window changed the files of this draft. Choose the version to publish.');
      }
      return call('publishDraft', { params: { id } });
    },
    end: showEmpty,
    resolve: async (choice) => {
      const { saved } = useDraft.getState();
      if (!saved) return;
      const theirs = await call('readDraft', { params: { id: saved.id } });
      set({ saving: { state: 'saved' } });
      if (choice === 'theirs') return show(theirs);
      useDraft.setState({ saved: { id: saved.id, revision: theirs.revision } });
      // Files that only the other window added are removed.
      setSavedPaths(theirs.files.map(({ path }) => path));
      await saveAndShow();
    },
  };
});

/** Whether the draft is shown that this person had last. A draft that is started before would be lost. */
export function useIsDraftOpen(): boolean {
  const isOwner = useIsOwner();
  const isRestored = useDraftFiles((state) => state.isRestored);
  const state = useDraftSaving(({ saving }) => saving.state);
  return isOwner ? state !== 'local' && state !== 'opening' : isRestored;
}
