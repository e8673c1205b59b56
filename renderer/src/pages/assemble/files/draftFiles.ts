import { create } from 'zustand';
import { compareByUtf8 } from '../../../../../shared/archive/filePath.ts';
import { MAX_PACK_BYTES, MAX_PACK_FILES } from '../../../../../shared/limits.ts';
import { countOf } from '../../../format/size.ts';
import type { HashReply } from '../../../hashing/hash.worker.ts';
import { hashFiles } from '../../../hashing/hashFiles.ts';
import { rowKey } from '../draft.ts';
import type { DraftFile } from './draftFile.ts';
import { readManifest, saveManifest } from './manifest.ts';
import { mediaTypeOf } from './mediaType.ts';
import { isSystemFile, type PathFile } from './readDropped.ts';
import { deleteStoredFiles, readStoredFiles, type StoredFile, storeFiles } from './storedFiles.ts';

interface DraftFilesState {
  files: DraftFile[];
  isRestored: boolean;
  /** A message about the last change: files skipped, replaced or not stored. */
  note: string | undefined;
  add: (added: readonly PathFile[]) => void;
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

  return {
    files: [],
    isRestored: false,
    note: undefined,
    add: (added) => {
      const wanted = added.filter(({ path }) => !isSystemFile(path));
      const dropped = wanted.map(draftFileOf).toSorted((left, right) => compareByUtf8(left.path, right.path));
      const fresh = new Map(dropped.map((file) => [file.path, file]));
      const replaced = get().files.filter(({ path }) => fresh.has(path));
      const files = [...get().files.filter(({ path }) => !fresh.has(path)), ...fresh.values()];
      const { kept, tooLarge } = filesToStore([...fresh.values()]);
      set({ files, note: noteOf(added.length - wanted.length, replaced, files.length, tooLarge) });
      remember();
      deleteQuietly(replaced);
      storeFiles(kept).catch(() => set({ note: NOT_KEPT }));
      hash([...fresh.values()]);
    },
    remove: (ids) => {
      const removed = new Set(ids);
      deleteQuietly(get().files.filter(({ id }) => removed.has(id)));
      set(({ files }) => ({ files: files.filter(({ id }) => !removed.has(id)), note: undefined }));
      remember();
    },
    rename: (changes) => {
      set(({ files }) => ({
        files: files.map((file) => ({ ...file, path: changes.get(file.id) ?? file.path })),
      }));
      remember();
    },
    restore: async () => {
      if (get().isRestored) return;
      set({ isRestored: true });
      const kept = new Map((await readStoredFiles().catch(() => [])).map(({ id, file }) => [id, file]));
      const files = readManifest().map((entry): DraftFile => {
        const file = kept.get(entry.id);
        return { ...entry, file, hashed: entry.sha256 ? entry.bytes : 0, error: undefined };
      });
      const known = new Set(files.map(({ id }) => id));
      deleteQuietly([...kept.keys()].filter((id) => !known.has(id)).map((id) => ({ id })));
      set((state) => ({ files: [...files, ...state.files] }));
      hash(files.filter(({ sha256 }) => !sha256));
    },
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

function draftFileOf({ path, file }: PathFile): DraftFile {
  const normal = path.normalize('NFC');
  return {
    id: rowKey(),
    path: normal,
    mediaType: mediaTypeOf(normal, file.type),
    bytes: file.size,
    file,
    sha256: undefined,
    hashed: 0,
    error: undefined,
  };
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

function noteOf(
  leftOut: number,
  replaced: readonly DraftFile[],
  total: number,
  tooLarge: number,
): string | undefined {
  const exchanged = replaced.filter(({ file }) => file).length;
  const notes = [
    leftOut > 0 && `${countOf(leftOut, 'system file')} skipped.`,
    exchanged > 0 && `${countOf(exchanged, 'file')} with the same path replaced.`,
    tooLarge > 0 && `Add ${countOf(tooLarge, 'large file')} again after a reload.`,
    total > MAX_PACK_FILES && `A pack can contain at most ${MAX_PACK_FILES} files.`,
  ];
  return notes.filter(Boolean).join(' ') || undefined;
}

/** A failure is harmless: unlisted contents are deleted on the next visit. */
function deleteQuietly(files: readonly { id: string }[]): void {
  if (files.length > 0) deleteStoredFiles(files.map(({ id }) => id)).catch(() => {});
}
