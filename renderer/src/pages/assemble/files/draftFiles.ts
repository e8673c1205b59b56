import { create } from 'zustand';
import { compareByUtf8 } from '../../../../../shared/archive/filePath.ts';
import type { PackFile } from '../../../../../shared/archive/pack.ts';
import { MAX_PACK_BYTES, MAX_PACK_FILES } from '../../../../../shared/limits.ts';
import { countOf } from '../../../format/size.ts';
import type { HashReply } from '../../../hashing/hash.worker.ts';
import { hashFiles } from '../../../hashing/hashFiles.ts';
import { rowKey } from '../draft.ts';
import type { DraftFile } from './draftFile.ts';
import { readManifest, saveManifest } from './manifest.ts';
import { matchPaths } from './matchPaths.ts';
import { mediaTypeOf } from './mediaType.ts';
import { isSystemFile, type PathFile } from './readDropped.ts';
import { deleteStoredFiles, readStoredFiles, type StoredFile, storeFiles } from './storedFiles.ts';

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
}

const NOT_KEPT = 'This browser cannot store the files. Add them again after a reload.';
/** A thousand small files are hashed in a moment. Limits how often the page is rendered meanwhile. */
const SHOW_EVERY_MS = 80;

/** The draft's files, stored in this browser so that a reload or a crash loses none. */
export const useDraftFiles = create<DraftFilesState>()((set, get) => {
  const remember = () => {
    if (!saveManifest(get().files)) set({ note: NOT_KEPT });
  };

  const applyReplies = (replies: ReadonlyMap<string, HashReply>) => {
    set(({ files }) => ({ files: files.map((file) => withReply(file, replies.get(file.id))) }));
    remember();
  };

  const hash = (files: readonly DraftFile[]) => {
    const waiting = new Map<string, HashReply>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const requests = files.flatMap(({ id, file }) => (file ? [{ id, file }] : []));
    hashFiles(requests, (reply) => {
      waiting.set(reply.id, reply);
      timer ??= setTimeout(() => {
        timer = undefined;
        applyReplies(new Map(waiting));
        waiting.clear();
      }, SHOW_EVERY_MS);
    });
  };

  /** Adds files at exactly these paths, in place of files that are there. */
  const put = (added: readonly PathFile[], skipped: number) => {
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
  };

  /** Files are added only after this, so that they are not restored a second time. */
  const restore = async () => {
    const kept = new Map((await readStoredFiles().catch(() => [])).map(({ id, file }) => [id, file]));
    const files = readManifest().map((entry): DraftFile => {
      const file = kept.get(entry.id);
      return { ...entry, file, hashed: entry.sha256 ? entry.bytes : 0, error: undefined };
    });
    const known = new Set(files.map(({ id }) => id));
    deleteQuietly([...kept.keys()].filter((id) => !known.has(id)).map((id) => ({ id })));
    set({ files, isRestored: true });
    hash(files.filter(({ sha256 }) => !sha256));
  };
  let restoring: Promise<void> | undefined;

  return {
    files: [],
    isRestored: false,
    note: undefined,
    previous: [],
    untouched: [],
    setPrevious: (previous) => set({ previous }),
    add: (added) => {
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
    },
    reuse: (reused) => {
      const paths = new Set(reused.map(({ path }) => path));
      const kept = get().files.filter(({ path }) => !paths.has(path));
      set({ files: [...kept, ...reused.map(storedFileOf)], note: undefined, untouched: [] });
      remember();
    },
    replace: (id, file) => {
      const path = get().files.find((each) => each.id === id)?.path;
      if (path !== undefined) put([{ path, file }], 0);
    },
    remove: (ids) => {
      const removed = new Set(ids);
      deleteQuietly(get().files.filter(({ id }) => removed.has(id)));
      set(({ files }) => ({
        files: files.filter(({ id }) => !removed.has(id)),
        note: undefined,
        untouched: [],
      }));
      remember();
    },
    rename: (changes) => {
      set(({ files }) => ({
        files: files.map((file) => ({ ...file, path: changes.get(file.id) ?? file.path })),
      }));
      remember();
    },
    restore: () => (restoring ??= restore()),
  };
});

function withReply(file: DraftFile, reply: HashReply | undefined): DraftFile {
  switch (reply?.state) {
    case 'hashing':
      return { ...file, hashed: reply.bytes };
    case 'done':
      return { ...file, hashed: file.bytes, sha256: reply.sha256 };
    case 'failed':
      return { ...file, error: reply.error };
    case undefined:
      return file;
  }
}

function draftFileOf({ path, file }: PathFile, mediaType = mediaTypeOf(path, file.type)): DraftFile {
  return {
    id: rowKey(),
    path,
    mediaType,
    bytes: file.size,
    file,
    isStored: false,
    sha256: undefined,
    hashed: 0,
    error: undefined,
  };
}

function storedFileOf({ path, sha256, bytes, media_type }: PackFile): DraftFile {
  return {
    id: rowKey(),
    path,
    mediaType: media_type,
    bytes,
    file: undefined,
    isStored: true,
    sha256,
    hashed: bytes,
    error: undefined,
  };
}

/** The reused files that a dropped folder does not contain, if it contains any file of the previous version. */
function untouchedBy(
  dropped: ReadonlySet<string>,
  { files, previous }: Pick<DraftFilesState, 'files' | 'previous'>,
): string[] {
  if (!previous.some(({ path }) => dropped.has(path))) return [];
  return files.filter(({ isStored, path }) => isStored && !dropped.has(path)).map(({ id }) => id);
}

/** The files to store, smallest first, up to what a pack can hold. */
function filesToStore(files: readonly DraftFile[]): { kept: StoredFile[]; tooLarge: number } {
  const kept: StoredFile[] = [];
  let bytes = 0;
  for (const { id, file } of files.toSorted((left, right) => left.bytes - right.bytes)) {
    bytes += file?.size ?? 0;
    if (file && bytes <= 2 * MAX_PACK_BYTES) kept.push({ id, file });
  }
  return { kept, tooLarge: files.length - kept.length };
}

interface Added {
  skipped: number;
  replaced: readonly DraftFile[];
  /** Files that were added twice at once. */
  doubled: number;
  total: number;
  tooLarge: number;
}

function noteOf({ skipped, replaced, doubled, total, tooLarge }: Added): string | undefined {
  const exchanged = replaced.filter(({ file }) => file).length;
  const notes = [
    skipped > 0 && `${countOf(skipped, 'system file')} skipped.`,
    exchanged > 0 && `${countOf(exchanged, 'file')} with the same path replaced.`,
    doubled > 0 && `${countOf(doubled, 'file')} with the same path as another skipped.`,
    tooLarge > 0 && `Add ${countOf(tooLarge, 'large file')} again after a reload.`,
    total > MAX_PACK_FILES && `A pack can contain at most ${MAX_PACK_FILES} files.`,
  ];
  return notes.filter(Boolean).join(' ') || undefined;
}

/** A failure is harmless: unlisted contents are deleted on the next visit. */
function deleteQuietly(files: readonly { id: string }[]): void {
  if (files.length > 0) deleteStoredFiles(files.map(({ id }) => id)).catch(() => {});
}
