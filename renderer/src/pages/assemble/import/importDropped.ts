import { notifications } from '@mantine/notifications';
import { describeError } from '../../../components/feedback/ErrorNote.tsx';
import { readSession } from '../../../state/session.ts';
import { addToDraft } from '../files/addToDraft.ts';
import type { PathFile } from '../files/readDropped.ts';
import { usePublication } from '../publication.ts';
import { useImports } from './imports.ts';
import { mayBePackFile, type OpenPackFile, openPackFile } from './readPackFile.ts';

/**
 * Imports files that were dropped on the window: pack files are shown for import, all others go into the draft of a new
 * pack. Pack files inside a dropped folder are data like any other file.
 *
 * @param openForm opens the form for a new pack, if it is not open
 */
export async function importDropped(dropped: Promise<PathFile[]>, openForm: () => void): Promise<void> {
  try {
    const files = await dropped;
    const packs = await openPackFiles(files);
    useImports.getState().show([...packs.values()]);
    const others = files.filter((each) => !packs.has(each));
    if (others.length === 0) return;
    const { may_contribute } = await readSession();
    if (!may_contribute)
      return notify('You cannot publish on this node', 'Only pack files can be read here.');
    if (usePublication.getState().publication.state === 'running') {
      return notify('A pack is being published', 'Drop the files again when it is published.');
    }
    await addToDraft(others);
    openForm();
  } catch (error) {
    notify('The files were not added', describeError(error).sentence);
  }
}

async function openPackFiles(files: readonly PathFile[]): Promise<Map<PathFile, OpenPackFile>> {
  const packs = new Map<PathFile, OpenPackFile>();
  for (const each of files) {
    if (each.path.includes('/') || !mayBePackFile(each.file)) continue;
    const pack = await openPackFile(each.file);
    if (pack) packs.set(each, pack);
  }
  return packs;
}

function notify(title: string, message: string): void {
  notifications.show({ title, message, color: 'red' });
}
