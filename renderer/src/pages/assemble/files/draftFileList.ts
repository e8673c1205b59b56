import type { StoredDraftFile } from '../../../../../shared/archive/draft.ts';
import type { PackFile } from '../../../../../shared/archive/pack.ts';
import { MAX_PACK_BYTES, MAX_PACK_FILES } from '../../../../../shared/limits.ts';
import { countOf } from '../../../format/size.ts';
import type { HashReply } from '../../../hashing/hash.worker.ts';
import { rowKey } from '../draft.ts';
import type { DraftFile } from './draftFile.ts';
import { mediaTypeOf } from './mediaType.ts';
import type { PathFile } from './readDropped.ts';
import type { StoredFile } from './storedFiles.ts';

export function withReply(file: DraftFile, reply: HashReply | undefined): DraftFile {
  switch (reply?.state) {
    case 'hashing':
      return { ...file, hashed: reply.bytes };
    case 'done':
      return withDigest(file, reply.sha256);
    case 'failed':
      return { ...file, error: reply.error };
    case undefined:
      return file;
  }
}

/** Adds the digest that this browser or the node computed. Both must find the same. */
export function withDigest(file: DraftFile, sha256: string): DraftFile {
  const isSame = file.sha256 === undefined || file.sha256 === sha256;
  const error = isSame ? file.error : 'The file was changed while it was read. Add it again.';
  return { ...file, hashed: file.bytes, sha256, error };
}

export function draftFileOf({ path, file }: PathFile, mediaType = mediaTypeOf(path, file.type)): DraftFile {
  return {
    id: rowKey(),
    path,
    mediaType,
    bytes: file.size,
    file,
    isStored: false,
    savedPath: undefined,
    sha256: undefined,
    hashed: 0,
    error: undefined,
  };
}

export function storedFileOf({ path, sha256, bytes, media_type }: PackFile): DraftFile {
  return {
    id: rowKey(),
    path,
    mediaType: media_type,
    bytes,
    file: undefined,
    isStored: true,
    savedPath: undefined,
    sha256,
    hashed: bytes,
    error: undefined,
  };
}

/** A file of the node's draft. */
export function savedFileOf({ path, sha256, bytes, media_type, contents }: StoredDraftFile): DraftFile {
  const isStored = contents !== 'missing';
  return { ...storedFileOf({ path, sha256, bytes, media_type }), isStored, savedPath: path };
}

/** The reused files that a dropped folder does not contain, if it contains any file of the previous version. */
export function untouchedBy(
  dropped: ReadonlySet<string>,
  { files, previous }: { files: readonly DraftFile[]; previous: readonly PackFile[] },
): string[] {
  if (!previous.some(({ path }) => dropped.has(path))) return [];
  return files.filter(({ isStored, path }) => isStored && !dropped.has(path)).map(({ id }) => id);
}

/** The files to store, smallest first, up to what a pack can hold. */
export function filesToStore(files: readonly DraftFile[]): { kept: StoredFile[]; tooLarge: number } {
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

export function noteOf({ skipped, replaced, doubled, total, tooLarge }: Added): string | undefined {
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
