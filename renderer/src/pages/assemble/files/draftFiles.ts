import { create } from 'zustand';
import { compareByUtf8 } from '../../../../../shared/filePath.ts';
import { MAX_PACK_BYTES, MAX_PACK_FILES } from '../../../../../shared/limits.ts';
import { countOf } from '../../../format/size.ts';
import type { HashReply } from '../../../hashing/hash.worker.ts';
import { hashFiles } from '../../../hashing/hashFiles.ts';
import { rowKey } from '../draft.ts';
import { forgetFiles, type KeptFile, keepFiles, readKeptFiles } from './keptFiles.ts';
import { keepManifest, readManifest } from './manifest.ts';
import { mediaTypeOf } from './mediaType.ts';
import { isSystemFile, type PathFile } from './readDropped.ts';

/** A file of the draft. */
export interface DraftFile {
  id: string;
  path: string;
  mediaType: string;
  bytes: number;
  /** Absent where the browser could not keep the bytes: the file must be dropped again. */
  file: File | undefined;
  sha256: string | undefined;
  /** Bytes hashed so far. */
  hashed: number;
  error: string | undefined;
}

interface DraftFilesState {
  files: DraftFile[];
  isRestored: boolean;
  /** What the person should know of the last change: files left out, replaced or not kept. */
  note: string | undefined;
  add: (added: readonly PathFile[]) => void;
  remove: (ids: readonly string[]) => void;
  rename: (changes: ReadonlyMap<string, string>) => void;
  restore: () => Promise<void>;
}

const NOT_KEPT = 'This browser cannot keep the files: after a reload they must be dropped again.';
/** A thousand small files are hashed in a moment; the page is drawn anew at most this often meanwhile. */
const SHOW_EVERY_MS = 80;

/** The draft's files, kept in this browser so that a reload or a crash loses none. */
export const useDraftFiles = create<DraftFilesState>()((set, get) => {
  const remember = () => {
    if (!keepManifest(get().files)) set({ note: NOT_KEPT });
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
      const { kept, tooLarge } = keptOf([...fresh.values()]);
      set({ files, note: noteOf(added.length - wanted.length, replaced, files.length, tooLarge) });
      remember();
      forgetQuietly(replaced);
      keepFiles(kept).catch(() => set({ note: NOT_KEPT }));
      hash([...fresh.values()]);
    },
    remove: (ids) => {
      const gone = new Set(ids);
      forgetQuietly(get().files.filter(({ id }) => gone.has(id)));
      set(({ files }) => ({ files: files.filter(({ id }) => !gone.has(id)), note: undefined }));
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
      const kept = new Map((await readKeptFiles().catch(() => [])).map(({ id, file }) => [id, file]));
      const files = readManifest().map((entry): DraftFile => {
        const file = kept.get(entry.id);
        return { ...entry, file, hashed: entry.sha256 ? entry.bytes : 0, error: undefined };
      });
      const known = new Set(files.map(({ id }) => id));
      forgetQuietly([...kept.keys()].filter((id) => !known.has(id)).map((id) => ({ id })));
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

/** The files whose bytes are copied, the smallest first: what no pack can hold anyway is not. */
function keptOf(files: readonly DraftFile[]): { kept: KeptFile[]; tooLarge: number } {
  const kept: KeptFile[] = [];
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
    leftOut > 0 && `${countOf(leftOut, 'file')} of the operating system left out.`,
    exchanged > 0 && `${countOf(exchanged, 'file')} of the same path replaced.`,
    tooLarge > 0 && `After a reload ${countOf(tooLarge, 'large file')} must be dropped again.`,
    total > MAX_PACK_FILES && `A pack has at most ${MAX_PACK_FILES} files.`,
  ];
  return notes.filter(Boolean).join(' ') || undefined;
}

/** Bytes that stay behind do no harm: they are in no manifest, and the next visit removes them. */
function forgetQuietly(files: readonly { id: string }[]): void {
  if (files.length > 0) forgetFiles(files.map(({ id }) => id)).catch(() => {});
}
