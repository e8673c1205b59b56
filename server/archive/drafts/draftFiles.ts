import { createReadStream } from 'node:fs';
import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import pLimit from 'p-limit';
import type { DraftFilesChange, DraftSummary } from '../../../shared/archive/draft.ts';
import {
  MAX_ALL_DRAFTS_BYTES,
  MAX_DRAFT_BYTES,
  MAX_DRAFTS,
  MAX_PACK_BYTES,
  MAX_PACK_FILES,
} from '../../../shared/limits.ts';
import { Problem } from '../../../shared/problems.ts';
import { isMissing, isUnreadable, type StagedBlob, type StagedFile } from '../../store/blobs/blobStore.ts';
import { createFolder, draftsFolder, syncFolder } from '../../store/files.ts';
import {
  type DraftFileRow,
  type DraftListRow,
  type DraftRow,
  deleteDraftFile,
  draftById,
  draftFiles,
  draftListRow,
  draftTotals,
  endDraft,
  putDraftFile,
} from '../../store/sqlite/archive/drafts.ts';
import type { ReadDatabase, WriteDatabase } from '../../store/sqlite/engine/open.ts';
import { blobBytes } from '../../store/sqlite/node/blobs.ts';
import { isReleased } from '../../store/sqlite/node/withheld.ts';
import type { Store } from '../../store/store.ts';
import type { AdmittedWrite } from '../limits/writeLimits.ts';
import { type AddedPack, addPack, FileFaults } from '../packs/addPack.ts';
import { checkRecord } from '../packs/packRows.ts';
import { readPackText } from '../packs/readPack.ts';

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

/** Checks the limits of drafts, in the transaction of a change. @throws Problem `pack_too_large`, `drafts_full` */
export function requireWithinLimits(database: ReadDatabase, id: string): void {
  const { files, bytes } = requireListRow(database, id);
  if (files > MAX_PACK_FILES)
    throw new Problem('pack_too_large', `A pack can have at most ${MAX_PACK_FILES} files.`);
  if (bytes > MAX_DRAFT_BYTES)
    throw new Problem('pack_too_large', `The files of a draft can have at most ${MAX_DRAFT_BYTES} bytes.`);
  if (draftTotals(database).bytes > MAX_ALL_DRAFTS_BYTES) throw draftsFull();
}

export function draftsFull(): Problem {
  return new Problem(
    'drafts_full',
    `Drafts are limited to ${MAX_DRAFTS}, and to ${MAX_ALL_DRAFTS_BYTES} bytes in total. Publish or delete some.`,
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

/** How many published drafts are known, so that a repeated request gets its pack. */
const KEPT_PUBLISHED = 100;
const MAX_CONCURRENT_FILES = 8;

interface Publishing {
  store: Store;
  contents: DraftContents;
  admitted: AdmittedWrite;
}

/**
 * Publishes a draft as a pack. The draft ends in the transaction that records the pack, so a crash leaves either the whole
 * draft or the pack. A draft that is published already gives its pack again.
 *
 * @param revision the record and the files that the caller has seen; without it, the current one is published
 * @throws Problem as `addPack`; `not_found`; `draft_changed` if the draft was changed since or meanwhile
 */
export async function publishDraft(
  { store, contents, admitted }: Publishing,
  id: string,
  revision: number | undefined,
): Promise<AddedPack> {
  const draft = requireDraft(store.read, id);
  if (draft.pack !== null)
    return { id: draft.pack, created: false, text: readPackText(store.read, draft.pack) };
  if (revision !== undefined && revision !== draft.revision) throw changedMeanwhile();
  const files = draftFiles(store.read, id);
  const checked = checkRecord({ ...(JSON.parse(draft.record) as object), files });
  const end = (database: WriteDatabase) => {
    const now = requireDraft(database, id);
    if (now.pack !== null) return;
    if (now.revision !== draft.revision) throw changedMeanwhile();
    endDraft(database, { id, pack: checked.id, at: store.instant(), kept: KEPT_PUBLISHED });
  };
  const added = await addPack(admitted.store, {
    checked,
    staged: await stageContents(store, files, (sha256) => contents.fileOf(id, sha256)),
    isPartial: true,
    onRecorded: end,
    reserveSpace: admitted.reserveSpace,
    repairStore: store,
  });
  if (!added.created) await store.write(end);
  return added;
}

/** Stages the files that are in the draft intact, by path. The others must be in the archive. */
async function stageContents(
  store: Store,
  files: readonly DraftFileRow[],
  fileOf: (sha256: string) => string,
): Promise<Map<string, StagedBlob>> {
  const staged = new Map<string, StagedBlob>();
  const atOnce = pLimit(MAX_CONCURRENT_FILES);
  const stageOne = async ({ path, sha256 }: DraftFileRow) => {
    const blob = await stageIfReadable(store, fileOf(sha256));
    if (blob?.sha256 === sha256) staged.set(path, blob);
    else await blob?.discard();
  };
  const outcomes = await Promise.allSettled(files.map((file) => atOnce(() => stageOne(file))));
  const failed = outcomes.find(({ status }) => status === 'rejected');
  if (!failed) return staged;
  await Promise.all([...staged.values()].map((blob) => blob.discard()));
  throw (failed as PromiseRejectedResult).reason;
}

async function stageIfReadable(store: Store, file: string): Promise<StagedBlob | undefined> {
  try {
    return await store.blobs.staging.stage(
      createReadStream(file) as AsyncIterable<Buffer>,
      2 * MAX_PACK_BYTES,
    );
  } catch (error) {
    if (isMissing(error) || isUnreadable(error)) return undefined;
    throw error;
  }
}
