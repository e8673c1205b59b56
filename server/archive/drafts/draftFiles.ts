import { readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { DraftFilesChange, DraftSummary } from '../../../shared/archive/draft.ts';
import { MAX_ALL_DRAFTS_BYTES, MAX_DRAFT_BYTES, MAX_DRAFTS, MAX_SET_FILES } from '../../../shared/limits.ts';
import { Problem } from '../../../shared/problems.ts';
import { isMissing, type StagedFile } from '../../store/blobs/blobStore.ts';
import { createFolder, draftsFolder, syncFolder } from '../../store/files.ts';
import {
  type DraftFileRow,
  type DraftListRow,
  type DraftRow,
  deleteDraftFile,
  draftById,
  draftFile,
  draftFiles,
  draftListRow,
  draftTotals,
  putDraftFile,
  touchDraft,
} from '../../store/sqlite/archive/drafts.ts';
import type { ReadDatabase, WriteDatabase } from '../../store/sqlite/engine/open.ts';
import { blobBytes } from '../../store/sqlite/node/blobs.ts';
import { isReleased } from '../../store/sqlite/node/withheld.ts';
import { FileFaults } from '../packs/addPack.ts';

export function asSummary({ files, bytes, ...row }: DraftListRow): DraftSummary {
  return { ...row, counts: { files, bytes } };
}

/** @throws Problem `not_found` */
export function requireDraft(database: ReadDatabase, id: string): DraftRow {
  return draftById(database, id) ?? unknownDraft(id);
}

/** @throws Problem `not_found` */
export function requireListRow(database: ReadDatabase, id: string): DraftListRow {
  return draftListRow(database, id) ?? unknownDraft(id);
}

/** @throws Problem `not_found`, `draft_published` */
export function requireOpen(database: ReadDatabase, id: string): DraftRow {
  const draft = requireDraft(database, id);
  if (draft.pack === null) return draft;
  throw new Problem(
    'draft_published',
    `This draft is published as ${draft.pack}. Make a new version instead.`,
    {
      members: { pack: draft.pack },
    },
  );
}

/** How many bytes the files of one draft can have, and those of all drafts together. */
export interface DraftLimits {
  draft: number;
  all: number;
}

/** Returns the limits of drafts where sets can have `setBytes`. */
export function draftLimits(setBytes: number): DraftLimits {
  return { draft: Math.max(MAX_DRAFT_BYTES, setBytes), all: Math.max(MAX_ALL_DRAFTS_BYTES, 2 * setBytes) };
}

/** Checks the limits of drafts, in the transaction of a change. @throws Problem `pack_too_large`, `drafts_full` */
export function requireWithinLimits(database: ReadDatabase, id: string, limits: DraftLimits): void {
  const { files, bytes } = requireListRow(database, id);
  if (files > MAX_SET_FILES)
    throw new Problem('pack_too_large', `A draft can have at most ${MAX_SET_FILES} files.`);
  if (bytes > limits.draft) throw draftTooLarge(limits);
  if (draftTotals(database).bytes > limits.all) throw draftsFull(limits);
}

export function draftTooLarge({ draft }: DraftLimits): Problem {
  return new Problem('pack_too_large', `The files of a draft can have at most ${draft} bytes.`);
}

export function draftsFull({ all }: DraftLimits): Problem {
  return new Problem(
    'drafts_full',
    `Drafts are limited to ${MAX_DRAFTS}, and to ${all} bytes in total. Publish or delete some.`,
  );
}

export function changedMeanwhile(reason = 'The draft was changed in another window.'): Problem {
  return new Problem('draft_changed', `${reason} Read it again.`);
}

function unknownDraft(id: string): never {
  throw new Problem('not_found', `There is no draft ${id}.`);
}

/**
 * The contents of the files of drafts, in `drafts/<draft>/<sha256>` of the data folder. A file is there before a row names
 * it, and is deleted after no row names it any more, so a crash leaves at most files without a row.
 */
export class DraftContents {
  readonly #folder: string;

  constructor(dataFolder: string) {
    this.#folder = draftsFolder(dataFolder);
  }

  fileOf(draft: string, sha256: string): string {
    return join(this.#folder, draft, sha256);
  }

  /** Moves a staged file into a draft, durably. */
  async place(draft: string, staged: StagedFile): Promise<void> {
    const folder = join(this.#folder, draft);
    // Throws if the disk was pulled out: nothing is created in its place.
    await stat(staged.file);
    await createFolder(folder);
    await rename(staged.file, this.fileOf(draft, staged.sha256));
    await syncFolder(folder);
  }

  /** Returns the digests of the files that a draft has. */
  async digestsOf(draft: string): Promise<Set<string>> {
    return new Set(await namesIn(join(this.#folder, draft)));
  }

  /** Deletes the files of a draft whose digests are not wanted. */
  async keepOnly(draft: string, wanted: ReadonlySet<string>): Promise<void> {
    if (wanted.size === 0) return rm(join(this.#folder, draft), { recursive: true, force: true });
    for (const name of await namesIn(join(this.#folder, draft))) {
      if (!wanted.has(name)) await rm(join(this.#folder, draft, name), { recursive: true, force: true });
    }
  }

  /** Deletes what uploads and deletions left behind when the node stopped. */
  async sweep(wantedBy: (draft: string) => ReadonlySet<string>): Promise<void> {
    for (const draft of await namesIn(this.#folder)) await this.keepOnly(draft, wantedBy(draft));
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** @throws Problem `released` if these bytes were given up: they are not taken again */
export function requireNotReleased(database: ReadDatabase, sha256: string): void {
  if (isReleased(database, sha256))
    throw new Problem('released', 'This archive gave up these bytes for good, and does not take them again.');
}

/** Checks that the contents of reused files are in the archive or in the draft. @throws Problem `unknown_blob`, `released` */
export function requireArchived(
  database: ReadDatabase,
  added: DraftFilesChange['add'],
  kept: ReadonlyMap<string, number>,
): void {
  const faults = new FileFaults();
  for (const [index, { path, sha256, bytes }] of added.entries()) {
    requireNotReleased(database, sha256);
    if (kept.get(sha256) === bytes || blobBytes(database, sha256) === bytes) continue;
    faults.add('unknown_blob', path, {
      path: `/add/${index}/sha256`,
      message: `${path}: the archive does not have ${sha256} with ${bytes} bytes. Send the file itself.`,
    });
  }
  faults.throwIfAny();
}

/**
 * Changes the list of files. Paths that the draft does not have are skipped.
 *
 * @throws Problem `draft_changed` if a rename would replace another file
 */
export function applyFilesChange(
  database: WriteDatabase,
  draft: string,
  { remove, rename, add }: DraftFilesChange,
): void {
  for (const path of remove) deleteDraftFile(database, draft, path);
  const files = new Map(draftFiles(database, draft).map((file) => [file.path, file]));
  const moved = rename.flatMap(({ from, to }) => {
    const file = files.get(from);
    return file ? [{ from, file: { ...file, path: to } }] : [];
  });
  const leaving = new Set(moved.map(({ from }) => from));
  const paths = new Set([...files.keys()].filter((path) => !leaving.has(path)));
  for (const { file } of moved) {
    if (paths.has(file.path)) throw changedMeanwhile(`The draft has another file at ${file.path}.`);
    paths.add(file.path);
  }
  // All are taken away first, so that two files can swap their paths.
  for (const { from } of moved) deleteDraftFile(database, draft, from);
  for (const { file } of moved) putDraftFile(database, draft, file);
  for (const file of add) putDraftFile(database, draft, file);
}

/** Returns how many more files and bytes a draft may hold; a new one if no draft is named, or it is gone. */
export function roomInDraft(
  database: ReadDatabase,
  id: string | undefined,
  limits: DraftLimits,
): { files: number; bytes: number } {
  const { files = 0, bytes = 0 } = (id === undefined ? undefined : draftListRow(database, id)) ?? {};
  const all = draftTotals(database).bytes;
  return {
    files: MAX_SET_FILES - files,
    bytes: Math.max(0, Math.min(limits.draft - bytes, limits.all - all)),
  };
}

/**
 * Adds a file whose bytes the archive has to a draft, in an open transaction.
 *
 * @returns why it was not added: the draft is gone or published, has another file at the path, or no room, or the archive gave
 * these bytes up
 */
export function addArchivedFile(
  database: WriteDatabase,
  id: string,
  file: DraftFileRow,
  { at, limits }: { at: string; limits: DraftLimits },
): 'added' | 'closed' | 'taken' | 'no_room' | 'released' {
  const draft = draftById(database, id);
  if (!draft || draft.pack !== null) return 'closed';
  const there = draftFile(database, id, file.path);
  if (there && there.sha256 !== file.sha256) return 'taken';
  if (isReleased(database, file.sha256)) return 'released';
  const room = roomInDraft(database, id, limits);
  if (room.files < 1 || file.bytes > room.bytes) return 'no_room';
  putDraftFile(database, id, file);
  touchDraft(database, { id, at });
  return 'added';
}
