import { create } from 'zustand';
import { compareByUtf8 } from '../../../../shared/archive/filePath.ts';
import type { Pack, PackFile } from '../../../../shared/archive/pack.ts';
import { MAX_PACK_FILES } from '../../../../shared/limits.ts';
import { isSystemFile, type PathFile } from '../../droppedFiles.ts';
import type { HashReply, HashRequest } from '../../hashing/hash.worker.ts';
import { completeDraft, type Draft, emptyDraft, isTouched, type SavedDraft } from './draft.ts';
import {
  deleteStoredFiles,
  readKept,
  readManifest,
  readStoredFiles,
  saveKept,
  saveManifest,
  storeFiles,
} from './draftStorage.ts';
import {
  type DraftFile,
  draftFileOf,
  filesToStore,
  noteOf,
  storedFileOf,
  untouchedBy,
  withDigest,
  withReply,
} from './files/draftFile.ts';
import { matchPaths, suggestedTitle } from './files/matchPaths.ts';

/** Where the draft is saved. */
export type Saving =
  /** A visitor's draft, which only this browser has. */
  | { state: 'local' }
  | { state: 'opening' }
  /** The node did not give the draft that this person had last. */
  | { state: 'openFailed'; error: unknown }
  | { state: 'saving' }
  | { state: 'saved' }
  | { state: 'failed'; error: unknown }
  /** Another window changed the draft. */
  | { state: 'changed elsewhere' };

/** The progress of publishing. It continues when the person leaves the page. */
type Publication =
  | { state: 'idle'; isCancelled?: boolean }
  | {
      state: 'running';
      done: number;
      total: number | null;
      rate: number;
      /** Undefined if it cannot be cancelled. */
      cancel: (() => void) | undefined;
    }
  /** `draft` and `files` are what was refused, to detect later changes. */
  | { state: 'failed'; error: unknown; draft: Draft; files: readonly DraftFile[] }
  | { state: 'published'; pack: Pack; fingerprint: string | undefined };

/** Everything that is known of the draft that is shown. `DraftSession` connects it with the node. */
interface DraftState {
  draft: Draft;
  /** Undefined for visitors, and until the owner's draft is saved for the first time. */
  saved: SavedDraft | undefined;
  /** The id of the node's draft while it is created, so that a repeated request creates no second one. */
  newId: string | undefined;
  /** Whether the record has changes that the node does not have. */
  isChanged: boolean;
  /** Set while the browser cannot keep the record because its storage is full or disabled. */
  isUnsaved: boolean;
  files: readonly DraftFile[];
  /** Whether the files that this browser kept were read. */
  isRestored: boolean;
  /** A message about the last change: files skipped, replaced or not stored. */
  note: string | undefined;
  /** The files of the previous version; empty for a first version. */
  previous: readonly PackFile[];
  /** Files of the previous version that the last dropped folder did not contain, by id. */
  untouched: readonly string[];
  saving: Saving;
  publication: Publication;
}

const NOT_KEPT = 'This browser cannot store the files. Add them again after a reload.';

const kept = readKept();

/**
 * The draft that is shown: its record and its files. This browser keeps both on every change, so that a reload or a crash
 * loses nothing. The owner's draft is saved on the node a moment later.
 */
export const useDraft = create<DraftState>()(() => ({
  draft: completeDraft(kept.draft),
  saved: kept.saved,
  newId: kept.newId,
  isChanged: kept.isChanged ?? false,
  isUnsaved: false,
  files: [],
  isRestored: false,
  note: undefined,
  previous: [],
  untouched: [],
  saving: { state: 'local' },
  publication: { state: 'idle' },
}));
const { getState: get, setState: set } = useDraft;

useDraft.subscribe((now, before) => {
  const { draft, saved, newId, isChanged, files } = now;
  const isSame =
    draft === before.draft &&
    saved === before.saved &&
    newId === before.newId &&
    isChanged === before.isChanged;
  if (!isSame) {
    const isUnsaved = !saveKept({ draft, saved, newId, isChanged });
    if (isUnsaved !== now.isUnsaved) set({ isUnsaved });
  }
  // Before they are restored, the list in this browser is the only one. It is too small for the list of a large set.
  const listed = files.length > MAX_PACK_FILES ? [] : files;
  if (files !== before.files && before.isRestored && !saveManifest(listed)) set({ note: NOT_KEPT });
});

/** Whether something was typed or added. */
export function hasContent({ draft, files }: Pick<DraftState, 'draft' | 'files'> = get()): boolean {
  return isTouched(draft) || files.length > 0;
}

/** Changes fields of the record. */
export function changeDraft(changes: Partial<Draft>): void {
  set(({ draft }) => ({ draft: { ...draft, ...changes }, isChanged: true }));
}

/** Shows another draft. Files that this browser has and the other draft does not are deleted here. */
export function showDraft(draft: Draft, saved: SavedDraft | undefined, files: readonly DraftFile[]): void {
  set({ draft, saved, newId: undefined, isChanged: false });
  showFiles(files);
}

/** Shows an empty form, which is no draft of the node yet. */
export function showEmpty(): void {
  showDraft(emptyDraft(), undefined, []);
}

/** Shows other files of the same draft. */
export function showFiles(files: readonly DraftFile[]): void {
  const before = get().files;
  const stay = new Set(files.map(({ id }) => id));
  deleteQuietly(before.filter(({ id }) => !stay.has(id)));
  set({ files, note: undefined, untouched: [] });
  const known = new Set(before.map(({ id }) => id));
  hash(files.filter(({ id, sha256 }) => !sha256 && !known.has(id)));
}

/** Adds files to the draft. An empty title is filled from the name of their folder, or of a first and only file. */
export async function addToDraft(added: readonly PathFile[]): Promise<void> {
  // Restoring replaces the files, so it must be over.
  await restoreFiles();
  const isFirst = get().files.length === 0;
  addFiles(added);
  const paths = added.map(({ path }) => path);
  const title = isFirst || paths[0]?.includes('/') ? suggestedTitle(paths) : undefined;
  if (title !== undefined && get().draft.title.trim() === '') changeDraft({ title });
}

/** Adds files. Those that the pack or its previous version already has replace them there. */
function addFiles(added: readonly PathFile[]): void {
  const wanted = added.filter(({ path }) => !isSystemFile(path));
  const { files: present, previous } = get();
  const known = [...present, ...previous].map(({ path }) => path);
  const targets = matchPaths(
    wanted.map(({ path }) => path),
    known,
  );
  putFiles(
    wanted.map(({ file }, index) => ({ path: targets[index] ?? '', file })),
    added.length - wanted.length,
  );
  const isFolder = wanted.some(({ path }) => path.includes('/'));
  set({ untouched: isFolder ? untouchedBy(new Set(targets), get()) : [] });
}

/** Adds files at exactly these paths, in place of files that are there. */
function putFiles(added: readonly PathFile[], skipped: number): void {
  const typeAt = new Map(get().previous.map(({ path, media_type }) => [path, media_type]));
  const made = added.map((each) => draftFileOf(each, typeAt.get(each.path)));
  const dropped = made.toSorted((left, right) => compareByUtf8(left.path, right.path));
  const fresh = new Map(dropped.map((file) => [file.path, file]));
  const replaced = get().files.filter(({ path }) => fresh.has(path));
  const files = [...get().files.filter(({ path }) => !fresh.has(path)), ...fresh.values()];
  const { stored, tooLarge } = filesToStore([...fresh.values()]);
  const doubled = added.length - fresh.size;
  const isLocal = get().saving.state === 'local';
  set({ files, note: noteOf({ skipped, replaced, doubled, total: files.length, tooLarge, isLocal }) });
  deleteQuietly(replaced);
  storeFiles(stored).catch(() => set({ note: NOT_KEPT }));
  hash([...fresh.values()]);
}

/** Adds files of the previous version, whose contents the archive has. */
export function reuseFiles(reused: readonly PackFile[]): void {
  const paths = new Set(reused.map(({ path }) => path));
  const others = get().files.filter(({ path }) => !paths.has(path));
  set({ files: [...others, ...reused.map(storedFileOf)], note: undefined, untouched: [] });
}

/** Replaces the contents of one file and keeps its path. */
export function replaceFile(id: string, file: File): void {
  const path = get().files.find((each) => each.id === id)?.path;
  if (path !== undefined) putFiles([{ path, file }], 0);
}

export function removeFiles(ids: readonly string[]): void {
  const removed = new Set(ids);
  deleteQuietly(get().files.filter(({ id }) => removed.has(id)));
  set(({ files }) => ({
    files: files.filter(({ id }) => !removed.has(id)),
    note: undefined,
    untouched: [],
  }));
}

/** Renames files: their new paths by id. A file that the node refused may be accepted under another name. */
export function renameFiles(paths: ReadonlyMap<string, string>): void {
  set(({ files }) => ({
    files: files.map((file) => {
      const path = paths.get(file.id);
      if (path === undefined || path === file.path) return file;
      return { ...file, path, error: file.isRefused ? undefined : file.error, isRefused: false };
    }),
  }));
}

/** Records what the node's draft has: the path of each file and, once it was uploaded, its digest. */
export function markFilesSaved(saved: ReadonlyMap<string, { savedPath: string; sha256?: string }>): void {
  const uploaded = get().files.filter(({ id, file }) => file && saved.get(id)?.sha256 !== undefined);
  set(({ files }) => ({
    files: files.map((file) => {
      const { savedPath, sha256 } = saved.get(file.id) ?? {};
      if (savedPath === undefined) return file;
      return { ...(sha256 ? withDigest(file, sha256) : file), savedPath, isStored: true };
    }),
  }));
  // The node has them now.
  deleteQuietly(uploaded);
}

/** Records why the node refused a file. */
export function markFileRefused(id: string, error: string): void {
  set(({ files }) => ({
    files: files.map((file) => (file.id === id ? { ...file, error, isRefused: true } : file)),
  }));
}

let restoring: Promise<void> | undefined;

/** Reads the files that this browser kept. Files are added only after this, so that they are not restored twice. */
export function restoreFiles(): Promise<void> {
  restoring ??= restore();
  return restoring;
}

async function restore(): Promise<void> {
  const stored = new Map((await readStoredFiles().catch(() => [])).map(({ id, file }) => [id, file]));
  const files = readManifest().map((entry): DraftFile => {
    const file = stored.get(entry.id);
    return { ...entry, file, hashed: entry.sha256 ? entry.bytes : 0, error: undefined, isRefused: false };
  });
  const known = new Set(files.map(({ id }) => id));
  deleteQuietly([...stored.keys()].filter((id) => !known.has(id)).map((id) => ({ id })));
  set({ files, isRestored: true });
  hash(files.filter(({ sha256 }) => !sha256));
}

function hash(files: readonly DraftFile[]): void {
  hashDraftFiles(files, (replies) =>
    set(({ files: present }) => ({ files: present.map((file) => withReply(file, replies.get(file.id))) })),
  );
}

/** A failure is harmless: unlisted contents are deleted on the next visit. */
function deleteQuietly(files: readonly { id: string }[]): void {
  if (files.length > 0) deleteStoredFiles(files.map(({ id }) => id)).catch(() => {});
}

/** A thousand small files are hashed in a moment. Limits how often the page is rendered meanwhile. */
const SHOW_EVERY_MS = 80;

/** Hashes the files of which this browser has the content. Reports the latest reply of each file, by its id. */
function hashDraftFiles(
  files: readonly DraftFile[],
  onReplies: (replies: ReadonlyMap<string, HashReply>) => void,
): void {
  const waiting = new Map<string, HashReply>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const requests = files.flatMap(({ id, file }) => (file ? [{ id, file }] : []));
  // The list of a large set takes longer to render.
  const every = get().files.length > MAX_PACK_FILES ? 12 * SHOW_EVERY_MS : SHOW_EVERY_MS;
  hashFiles(requests, (reply) => {
    waiting.set(reply.id, reply);
    timer ??= setTimeout(() => {
      timer = undefined;
      onReplies(new Map(waiting));
      waiting.clear();
    }, every);
  });
}

/**
 * Hashes files in a worker, so that the page stays responsive. The worker ends after the last file. Returns a
 * function that stops it.
 */
export function hashFiles(files: readonly HashRequest[], onReply: (reply: HashReply) => void): () => void {
  if (files.length === 0) return () => {};
  const worker = new Worker(new URL('../../hashing/hash.worker.ts', import.meta.url), { type: 'module' });
  let left = files.length;
  worker.onmessage = ({ data }: MessageEvent<HashReply>) => {
    onReply(data);
    if (data.state !== 'hashing') left -= 1;
    if (left === 0) worker.terminate();
  };
  worker.onerror = () => {
    for (const { id } of files)
      onReply({ id, state: 'failed', error: 'Hashing could not be started in this browser.' });
    worker.terminate();
  };
  for (const file of files) worker.postMessage(file);
  return () => worker.terminate();
}
