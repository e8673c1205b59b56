import type { StoredDraftFile } from '../../../../../shared/archive/draft.ts';
import { newPathFault } from '../../../../../shared/archive/filePath.ts';
import type { PackFile } from '../../../../../shared/archive/pack.ts';
import type { FileChange } from '../../../../../shared/archive/packComparison.ts';
import { MAX_PACK_BYTES, MAX_PACK_FILES } from '../../../../../shared/limits.ts';
import type { PathFile } from '../../../droppedFiles.ts';
import { countOf, formatCount } from '../../../format.ts';
import type { HashReply } from '../../../hashing/hash.worker.ts';
import { rowKey } from '../draft.ts';

/** A file in the draft. */
export interface DraftFile {
  id: string;
  path: string;
  mediaType: string;
  bytes: number;
  /** Undefined for a file of the node, and if the browser could not store the contents: then the file must be added again. */
  file: File | undefined;
  /** Whether the node has the contents: in its draft, or as a file of the previous version. */
  isStored: boolean;
  /** The path at which the node's draft has this file; undefined until it is saved there. */
  savedPath: string | undefined;
  sha256: string | undefined;
  /** Bytes hashed so far. */
  hashed: number;
  error: string | undefined;
  /** Whether `error` is the node's: it may accept the file under another name. */
  isRefused: boolean;
}

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
    isRefused: false,
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
    isRefused: false,
  };
}

/** A file of the node's draft. */
function savedFileOf({ path, sha256, bytes, media_type, contents }: StoredDraftFile): DraftFile {
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

/** The contents of a draft file, as stored in IndexedDB. */
export interface StoredFile {
  id: string;
  file: File;
}

/** The files to store, smallest first, up to what a pack can hold. */
export function filesToStore(files: readonly DraftFile[]): { stored: StoredFile[]; tooLarge: number } {
  const stored: StoredFile[] = [];
  let bytes = 0;
  for (const { id, file } of files.toSorted((left, right) => left.bytes - right.bytes)) {
    bytes += file?.size ?? 0;
    if (file && bytes <= 2 * MAX_PACK_BYTES) stored.push({ id, file });
  }
  return { stored, tooLarge: files.length - stored.length };
}

interface Added {
  skipped: number;
  replaced: readonly DraftFile[];
  /** Files that were added twice at once. */
  doubled: number;
  total: number;
  tooLarge: number;
  /** Whether it is a visitor's draft, which only this browser has. */
  isLocal: boolean;
}

export function noteOf({ skipped, replaced, doubled, total, tooLarge, isLocal }: Added): string | undefined {
  const exchanged = replaced.filter(({ file }) => file).length;
  const notes = [
    skipped > 0 && `${countOf(skipped, 'system file')} skipped.`,
    exchanged > 0 && `${countOf(exchanged, 'file')} with the same path replaced.`,
    doubled > 0 && `${countOf(doubled, 'file')} with the same path as another skipped.`,
    tooLarge > 0 &&
      (isLocal
        ? `Add ${countOf(tooLarge, 'large file')} again after a reload.`
        : 'Stay on this page until the draft is saved: this browser cannot keep so much.'),
    isLocal && total > MAX_PACK_FILES && `A pack can contain at most ${formatCount(MAX_PACK_FILES)} files.`,
  ];
  return notes.filter(Boolean).join(' ') || undefined;
}

/** Media types of research files that browsers do not know, by extension. */
const TYPES: Record<string, string> = {
  csv: 'text/csv',
  tsv: 'text/tab-separated-values',
  txt: 'text/plain',
  log: 'text/plain',
  md: 'text/markdown',
  rst: 'text/plain',
  json: 'application/json',
  jsonl: 'application/jsonl',
  ndjson: 'application/jsonl',
  geojson: 'application/geo+json',
  ipynb: 'application/x-ipynb+json',
  py: 'text/x-python',
  r: 'text/x-r',
  jl: 'text/x-julia',
  m: 'text/x-matlab',
  sh: 'application/x-sh',
  sql: 'application/sql',
  tex: 'application/x-tex',
  bib: 'application/x-bibtex',
  yaml: 'application/yaml',
  yml: 'application/yaml',
  toml: 'application/toml',
  xml: 'application/xml',
  parquet: 'application/vnd.apache.parquet',
  h5: 'application/x-hdf5',
  hdf5: 'application/x-hdf5',
  nc: 'application/x-netcdf',
  npy: 'application/octet-stream',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  gz: 'application/gzip',
  fasta: 'text/x-fasta',
};

/** The media type to record: by extension first, because that gives the same result on every machine. */
export function mediaTypeOf(path: string, browserType: string): string {
  const extension = /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? '';
  return (
    TYPES[extension] ?? (/^[\w.+-]+\/[\w.+-]+$/.test(browserType) ? browserType : 'application/octet-stream')
  );
}

/**
 * The files of a draft of the node, with those of this browser that it does not have yet. A file that the node lost is
 * uploaded again if this browser still has it.
 */
export function filesOfStored(stored: readonly StoredDraftFile[], local: readonly DraftFile[]): DraftFile[] {
  const pending = local.filter(({ savedPath, file, isStored }) => !savedPath && (file || isStored));
  const bySavedPath = new Map(local.map((file) => [file.savedPath, file]));
  const replaced = new Set(pending.map(({ path }) => path));
  const saved = stored
    .filter(({ path }) => !replaced.has(path))
    .map((file) => mergedFile(file, bySavedPath.get(file.path)));
  return [...saved, ...pending];
}

function mergedFile(stored: StoredDraftFile, local: DraftFile | undefined): DraftFile {
  const file = savedFileOf(stored);
  if (!local || local.sha256 !== stored.sha256) return file;
  const isLost = stored.contents === 'missing' && local.file !== undefined;
  return {
    ...file,
    id: local.id,
    path: local.path,
    ...(isLost ? { file: local.file, savedPath: undefined } : {}),
  };
}

/** How the files that are shown differ from those of the node's draft. */
export interface FileDifferences {
  remove: string[];
  rename: DraftFile[];
  add: DraftFile[];
  uploads: DraftFile[];
}

/**
 * Compares the files that are shown with the paths that the node's draft has. A file whose path another file has too is
 * saved after one of them is renamed, so that neither replaces the other. A file whose path no pack can have waits for
 * another name; the list shows why.
 */
export function fileDifferences(
  files: readonly DraftFile[],
  savedPaths: ReadonlySet<string>,
): FileDifferences {
  const sound = placeable(files);
  const uploads = sound.filter(({ file, isStored }) => file && !isStored);
  // An upload replaces the file at its path.
  const wanted = new Set([
    ...files.flatMap(({ savedPath }) => savedPath ?? []),
    ...uploads.map(({ path }) => path),
  ]);
  return {
    remove: [...savedPaths].filter((path) => !wanted.has(path)),
    rename: sound.filter(({ savedPath, path }) => savedPath !== undefined && savedPath !== path),
    add: sound.filter(({ isStored, savedPath }) => isStored && savedPath === undefined),
    uploads,
  };
}

/** Returns the files without a fault whose path no other file has, on the page or on the node. */
function placeable(files: readonly DraftFile[]): DraftFile[] {
  const shown = new Map<string, number>();
  for (const { path } of files) shown.set(path, (shown.get(path) ?? 0) + 1);
  let sound = files.filter(
    ({ error, path }) => error === undefined && shown.get(path) === 1 && newPathFault(path) === undefined,
  );
  // A file that stays where it is keeps its path from others, which may keep theirs from others again.
  for (;;) {
    const moving = new Set(sound);
    const held = new Set(files.flatMap((file) => (moving.has(file) ? [] : (file.savedPath ?? []))));
    const next = sound.filter(({ path }) => !held.has(path));
    if (next.length === sound.length) return sound;
    sound = next;
  }
}

/** A file of the draft, or a file of the previous version that the draft does not have. */
export interface FileItem {
  key: string;
  path: string;
  /** Undefined for a first version, and while the file is hashed. */
  change: FileChange | undefined;
  file: DraftFile | undefined;
  previous: PackFile | undefined;
}

/** Lists the files of a draft and those of the previous version that it lacks. */
export function fileItems(files: readonly DraftFile[], previous: readonly PackFile[]): FileItem[] {
  const before = new Map(previous.map((file) => [file.path, file]));
  const present = new Set(files.map(({ path }) => path));
  const items = files.map((file): FileItem => {
    const earlier = before.get(file.path);
    const change = previous.length > 0 ? changeOf(file, earlier) : undefined;
    return { key: file.id, path: file.path, change, file, previous: earlier };
  });
  for (const earlier of previous) {
    if (present.has(earlier.path)) continue;
    const { path } = earlier;
    items.push({ key: `removed ${path}`, path, change: 'removed', file: undefined, previous: earlier });
  }
  return items;
}

function changeOf(file: DraftFile, before: PackFile | undefined): FileChange | undefined {
  if (!before) return 'added';
  if (file.bytes !== before.bytes) return 'changed';
  if (!file.sha256) return undefined;
  return file.sha256 === before.sha256 ? 'same' : 'changed';
}
