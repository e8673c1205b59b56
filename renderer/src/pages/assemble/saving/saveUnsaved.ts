import { useDraft } from '../draft.ts';
import { needsSaving, saveFiles } from './saveFiles.ts';
import { hasUnsavedRecord, saveRecord } from './saveRecord.ts';

let running: Promise<void> | undefined;

/** Saves everything that the node does not have. Runs one save at a time. @throws why it was not saved */
export function saveUnsaved(): Promise<void> {
  running ??= saveAll().finally(() => {
    running = undefined;
  });
  return running;
}

/** The save that runs, if there is one. */
export function runningSave(): Promise<void> | undefined {
  return running;
}

async function saveAll(): Promise<void> {
  for (;;) {
    if (hasUnsavedRecord()) await saveRecord();
    const { saved } = useDraft.getState();
    if (saved && needsSaving()) await saveFiles(saved.id);
    else if (!hasUnsavedRecord()) return;
  }
}
