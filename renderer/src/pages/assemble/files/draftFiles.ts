import { create } from 'zustand';
import { compareByUtf8 } from '../../../../../shared/archive/filePath.ts';
import type { PackFile } from '../../../../../shared/archive/pack.ts';
import type { DraftFile } from './draftFile.ts';
import {
  draftFileOf,
  filesToStore,
  noteOf,
  storedFileOf,
  untouchedBy,
  withDigest,
  withReply,
} from './draftFileList.ts';
import { readManifest, saveManifest } from './draftManifest.ts';
import { hashDraftFiles } from './hashDraftFiles.ts';
import { matchPaths } from './matchPaths.ts';
import { isSystemFile, type PathFile } from './readDropped.ts';
import { deleteStoredFiles, readStoredFiles, storeFiles } from './storedFiles.ts';

interface DraftFilesState {
  files: DraftFile[];
  isRestored: boolean;
  /** A message about the last change: files skipped, replaced or not stored. */
  note: string | undefined;
  /** The files of the previous version; empty for a first version. */
  previous: readonly PackFile[];
  /** Files of the previous version that the last dropped folder did not contain, by id. */
  untouched: readonly string[];
  setPrevious: (files: readonly PackFile[]) => void;
  /** Adds files. Those that the pack or its previous version already has replace them there. */
  add: (added: readonly PathFile[]) => void;
  /** Adds files of the previous version, whose contents the archive has. */
  reuse: (files: readonly PackFile[]) => void;
  /** Replaces the contents of one file and keeps its path. */
  replace: (id: string, file: File) => void;
  remove: (ids: readonly string[]) => void;
  rename: (changes: ReadonlyMap<string, string>) => void;
  restore: () => Promise<void>;
  /** Shows the files of another draft. */
  open: (files: DraftFile[]) => void;
  /** Records what the node's draft has: the path of each file and, once it was uploaded, its digest. */
  markSaved: (saved: ReadonlyMap<string, { savedPath: string; sha256?: string }>) => void;
  /** Records why the node refused a file. */
  markRefused: (id: string, error: string) => void;
}

const NOT_KEPT = 'This browser cannot store the files. Add them again after a reload.';

/** The draft's files, stored in this browser so that a reload or a crash loses none. */
export const useDraftFiles = create<DraftFilesState>()(() => ({
  files: [],
  isRestored: false,
  note: undefined,
  previous: [],
  untouched: [],
  setPrevious: (previous) => set({ previous }),
  add,
  reuse,
  replace,
  remove,
  rename,
  restore: () => (restoring ??= restore()),
  open,
  markSaved,
  markRefused: (id, error) =>
    set(({ files }) => ({ files: files.map((file) => (file.id === id ? { ...file, error } : file)) })),
}));
const { getState: get, setState: set } = useDraftFiles;

function add(added: readonly PathFile[]): void {
  const wanted = added.filter(({ path }) => !isSystemFile(path));
  const { files: present, previous } = get();
  const known = [...present, ...previous].map(({ path }) => path);
  const targets = matchPaths(
    wanted.map(({ path }) => path),
    known,
  );
  put(
    wanted.map(({ file }, index) => ({ path: targets[index] ?? '', file })),
    added.length - wanted.length,
  );
  const isFolder = wanted.some(({ path }) => path.includes('/'));
  set({ untouched: isFolder ? untouchedBy(new Set(targets), get()) : [] });
}

/** Adds files at exactly these paths, in place of files that are there. */
function put(added: readonly PathFile[], skipped: number): void {
  const typeAt = new Map(get().previous.map(({ path, media_type }) => [path, media_type]));
  const made = added.map((each) => draftFileOf(each, typeAt.get(each.path)));
  const dropped = made.toSorted((left, right) => compareByUtf8(left.path, right.path));
  const fresh = new Map(dropped.map((file) => [file.path, file]));
  const replaced = get().files.filter(({ path }) => fresh.has(path));
  const files = [...get().files.filter(({ path }) => !fresh.has(path)), ...fresh.values()];
  const { kept, tooLarge } = filesToStore([...fresh.values()]);
  const doubled = added.length - fresh.size;
  set({ files, note: noteOf({ skipped, replaced, doubled, total: files.length, tooLarge }) });
  remember();
  deleteQuietly(replaced);
  storeFiles(kept).catch(() => set({ note: NOT_KEPT }));
  hash([...fresh.values()]);
}

function reuse(reused: readonly PackFile[]): void {
  const paths = new Set(reused.map(({ path }) => path));
  const kept = get().files.filter(({ path }) => !paths.has(path));
  set({ files: [...kept, ...reused.map(storedFileOf)], note: undefined, untouched: [] });
  remember();
}

function replace(id: string, file: File): void {
  const path = get().files.find((each) => each.id === id)?.path;
  if (path !== undefined) put([{ path, file }], 0);
}

function remove(ids: readonly string[]): void {
  const removed = new Set(ids);
  deleteQuietly(get().files.filter(({ id }) => removed.has(id)));
  set(({ files }) => ({
    files: files.filter(({ id }) => !removed.has(id)),
    note: undefined,
    untouched: [],
  }));
  remember();
}

function rename(changes: ReadonlyMap<string, string>): void {
  set(({ files }) => ({
    files: files.map((file) => ({ ...file, path: changes.get(file.id) ?? file.path })),
  }));
  remember();
}

let restoring: Promise<void> | undefined;

/** Files are added only after this, so that they are not restored a second time. */
async function restore(): Promise<void> {
  const kept = new Map((await readStoredFiles().catch(() => [])).map(({ id, file }) => [id, file]));
  const files = readManifest().map((entry): DraftFile => {
    const file = kept.get(entry.id);
    return { ...entry, file, hashed: entry.sha256 ? entry.bytes : 0, error: undefined };
  });
  const known = new Set(files.map(({ id }) => id));
  deleteQuietly([...kept.keys()].filter((id) => !known.has(id)).map((id) => ({ id })));
  set({ files, isRestored: true });
  hash(files.filter(({ sha256 }) => !sha256));
}

function open(files: DraftFile[]): void {
  const before = get().files;
  const kept = new Set(files.map(({ id }) => id));
  deleteQuietly(before.filter(({ id }) => !kept.has(id)));
  set({ files, note: undefined, untouched: [] });
  remember();
  const known = new Set(before.map(({ id }) => id));
  hash(files.filter(({ id, sha256 }) => !sha256 && !known.has(id)));
}

function markSaved(saved: Parameters<DraftFilesState['markSaved']>[0]): void {
  const uploaded = get().files.filter(({ id, file }) => file && saved.get(id)?.sha256 !== undefined);
  set(({ files }) => ({
    files: files.map((file) => {
      const { savedPath, sha256 } = saved.get(file.id) ?? {};
      if (savedPath === undefined) return file;
      return { ...(sha256 ? withDigest(file, sha256) : file), savedPath, isStored: true };
    }),
  }));
  remember();
  // The node has them now.
  deleteQuietly(uploaded);
}

function hash(files: readonly DraftFile[]): void {
  hashDraftFiles(files, (replies) => {
    set(({ files: present }) => ({ files: present.map((file) => withReply(file, replies.get(file.id))) }));
    remember();
  });
}

function remember(): void {
  if (!saveManifest(get().files)) set({ note: NOT_KEPT });
}

/** A failure is harmless: unlisted contents are deleted on the next visit. */
function deleteQuietly(files: readonly { id: string }[]): void {
  if (files.length > 0) deleteStoredFiles(files.map(({ id }) => id)).catch(() => {});
}
