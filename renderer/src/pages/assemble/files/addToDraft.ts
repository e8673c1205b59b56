import { useDraft } from '../draft.ts';
import { useDraftFiles } from './draftFiles.ts';
import { folderTitle } from './folderTitle.ts';
import type { PathFile } from './readDropped.ts';

/** Adds files to the draft. An empty title is filled from the name of their folder. */
export async function addToDraft(added: readonly PathFile[]): Promise<void> {
  // Restoring replaces the files, so it must be over.
  await useDraftFiles.getState().restore();
  useDraftFiles.getState().add(added);
  const { draft, change } = useDraft.getState();
  const title = folderTitle(added.map(({ path }) => path));
  if (title !== undefined && draft.title.trim() === '') change({ title });
}
