import type { StoredDraftFile } from '../../../../../shared/archive/draft.ts';
import { call, isProblem, isRefusal } from '../../../api/client.ts';
import { sendStream } from '../../../api/sendStream.ts';
import type { DraftFile } from '../files/draftFile.ts';
import { useDraftFiles } from '../files/draftFiles.ts';
import { fileDifferences } from './fileDifferences.ts';

const MAX_CONCURRENT_UPLOADS = 4;

/** The paths that the node's draft has. */
let savedPaths = new Set<string>();

/** Sets the paths that the node's draft has, when it was read. */
export function setSavedPaths(paths: Iterable<string>): void {
  savedPaths = new Set(paths);
}

/** A change of the list whose answer was lost, so that it may be applied. Repeated, it could remove a renamed file. */
let unanswered: (ListChange & { draft: string }) | undefined;

function differences() {
  return fileDifferences(useDraftFiles.getState().files, savedPaths);
}

/** Whether the node's draft has other files than the one shown. */
export function needsSaving(): boolean {
  return Object.values(differences()).some((files) => files.length > 0);
}

/** Whether the files of the node's draft are not those shown. */
export function hasOtherFiles(stored: readonly StoredDraftFile[]): boolean {
  const shown = new Map(useDraftFiles.getState().files.map(({ path, sha256 }) => [path, sha256]));
  return stored.length !== shown.size || stored.some(({ path, sha256 }) => shown.get(path) !== sha256);
}

/** Makes the files of the node's draft those shown at this moment. @throws if the node does not accept it */
export async function saveFiles(draft: string): Promise<void> {
  if (unanswered?.draft === draft) await settle(unanswered);
  unanswered = undefined;
  const { remove, rename, add, uploads } = differences();
  if (remove.length + rename.length + add.length > 0) await changeList(draft, { remove, rename, add });
  const waiting = [...uploads];
  const uploadNext = async (): Promise<void> => {
    for (let file = waiting.shift(); file; file = waiting.shift()) await uploadFile(draft, file);
  };
  await Promise.all(Array.from({ length: MAX_CONCURRENT_UPLOADS }, uploadNext));
}

interface ListChange {
  remove: readonly string[];
  rename: readonly DraftFile[];
  add: readonly DraftFile[];
}

async function changeList(id: string, { remove, rename, add }: ListChange): Promise<void> {
  const { markRefused } = useDraftFiles.getState();
  const body = {
    remove: [...remove],
    rename: rename.map(({ savedPath = '', path }) => ({ from: savedPath, to: path })),
    add: add.map(({ path, sha256 = '', bytes, mediaType }) => ({
      path,
      sha256,
      bytes,
      media_type: mediaType,
    })),
  };
  try {
    const { files } = await call('changeDraftFiles', { params: { id }, body });
    markApplied({ rename, add }, files);
  } catch (error) {
    if (!isRefusal(error)) unanswered = { draft: id, remove, rename, add };
    if (!isProblem(error, 'unknown_blob')) throw error;
    for (const { path } of error.document.errors ?? []) {
      const file = add[Number(path.split('/')[2])];
      if (file) markRefused(file.id, 'The archive does not have this file. Add it again.');
    }
  }
}

function markApplied({ rename, add }: Pick<ListChange, 'rename' | 'add'>, files: StoredDraftFile[]): void {
  setSavedPaths(files.map(pathOf));
  useDraftFiles
    .getState()
    .markSaved(new Map([...rename, ...add].map((file) => [file.id, { savedPath: file.path }])));
}

/** Finds out whether the node applied a change. It applies all of it or nothing. */
async function settle({ draft, rename, add }: NonNullable<typeof unanswered>): Promise<void> {
  const { files } = await call('readDraft', { params: { id: draft } });
  const digestAt = new Map(files.map(({ path, sha256 }) => [path, sha256]));
  const targets = new Set(rename.map(pathOf));
  const isApplied = rename.every(
    ({ savedPath = '', path, sha256 }) =>
      digestAt.get(path) === sha256 && (targets.has(savedPath) || !digestAt.has(savedPath)),
  );
  if (isApplied && rename.length > 0) markApplied({ rename, add }, files);
}

async function uploadFile(draft: string, { id, path, mediaType, file }: DraftFile): Promise<void> {
  if (!file) return;
  const { markSaved, markRefused } = useDraftFiles.getState();
  try {
    const { sha256 } = await sendStream('putDraftFile', {
      params: { id: draft },
      query: { path, media_type: mediaType },
      body: file,
      mediaType: 'application/octet-stream',
    });
    savedPaths.add(path);
    markSaved(new Map([[id, { savedPath: path, sha256 }]]));
  } catch (error) {
    // Anything else concerns the draft or the node, not this file.
    if (!isProblem(error, 'pack_too_large') && !isProblem(error, 'invalid_parameter')) throw error;
    markRefused(id, error.message);
  }
}

function pathOf({ path }: { path: string }): string {
  return path;
}
