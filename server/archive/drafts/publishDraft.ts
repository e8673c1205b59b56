import { createReadStream } from 'node:fs';
import pLimit from 'p-limit';
import { compareByUtf8 } from '../../../shared/archive/filePath.ts';
import type { PackFile, PackRecord } from '../../../shared/archive/pack.ts';
import type { SetFile } from '../../../shared/archive/set.ts';
import { type PlannedFile, planSet, SET_FILE } from '../../../shared/archive/setManifest.ts';
import { MAX_PACK_BYTES, MAX_PACK_FILES } from '../../../shared/limits.ts';
import { Problem } from '../../../shared/problems.ts';
import { yieldToEventLoop } from '../../runtime/background.ts';
import { isMissing, isUnreadable, type StagedBlob } from '../../store/blobs/blobStore.ts';
import { discardAll } from '../../store/blobs/staging.ts';
import {
  type DraftFileRow,
  draftFiles,
  draftPart,
  endDraft,
  putDraftPart,
} from '../../store/sqlite/archive/drafts.ts';
import { packById } from '../../store/sqlite/archive/packs.ts';
import { fileOfPack } from '../../store/sqlite/archive/sets.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import type { Store } from '../../store/store.ts';
import type { AdmittedWrite } from '../limits/writeLimits.ts';
import { type AddedPack, addPack, requireReferences } from '../packs/addPack.ts';
import { checkRecord, packTooLarge, requireNewPaths } from '../packs/checkRecord.ts';
import { readPackText } from '../packs/readPack.ts';
import { setTooLarge } from '../sets/checkSet.ts';
import { manifestRecord, manifestText, partRecord } from '../sets/setRecords.ts';
import { changedMeanwhile, type DraftContents, requireDraft } from './draftFiles.ts';

/** How many published drafts are known, so that a repeated request gets its pack. */
const KEPT_PUBLISHED = 100;
const MAX_CONCURRENT_FILES = 8;

interface Publishing extends Pick<SetPublishing, 'signal' | 'progress' | 'requireSpace' | 'partBytes'> {
  store: Store;
  contents: DraftContents;
  admitted: AdmittedWrite;
  /** The largest size of the files of a pack, and of a set. */
  packBytes: number;
  setBytes: number;
}

/**
 * Publishes a draft as a pack, or as a set if its files are more than a pack can have. The draft ends in the transaction
 * that records the pack, so a crash leaves either the whole draft or the pack. A draft that is published already gives
 * its pack again.
 *
 * @param revision the record and the files that the caller has seen; without it, the current one is published
 * @throws Problem as `addPack`; `not_found`; `draft_changed` if the draft was changed since or meanwhile
 */
export async function publishDraft(
  publishing: Publishing,
  id: string,
  revision: number | undefined,
): Promise<AddedPack> {
  const { store, contents, admitted } = publishing;
  const draft = requireDraft(store.read, id);
  if (draft.pack !== null)
    return { id: draft.pack, created: false, text: readPackText(store.read, draft.pack) };
  if (revision !== undefined && revision !== draft.revision) throw changedMeanwhile();
  const files = draftFiles(store.read, id);
  const record = JSON.parse(draft.record) as object;
  const endAs = (database: WriteDatabase, pack: string) => {
    const now = requireDraft(database, id);
    if (now.pack !== null) return;
    if (now.revision !== draft.revision) throw changedMeanwhile();
    endDraft(database, { id, pack, at: store.instant(), kept: KEPT_PUBLISHED });
  };
  if (isSet(files, publishing)) {
    const set = { id, revision: draft.revision, record, files: files.toSorted(byPath) };
    const added = await publishSet({ ...publishing, writes: admitted.store, end: endAs }, set);
    if (!added.created) await store.write((database) => endAs(database, added.id));
    return added;
  }
  const checked = checkRecord({ ...record, files });
  const end = (database: WriteDatabase) => endAs(database, checked.id);
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

/** Returns whether these files are more than a pack can have. @throws Problem `pack_too_large` if a set cannot have them */
function isSet(files: readonly DraftFileRow[], { packBytes, setBytes }: Publishing): boolean {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  if (bytes <= packBytes && files.length <= MAX_PACK_FILES) return false;
  if (bytes <= setBytes) return true;
  if (setBytes <= packBytes) throw packTooLarge();
  throw setTooLarge(bytes, setBytes);
}

function byPath(left: DraftFileRow, right: DraftFileRow): number {
  return compareByUtf8(left.path, right.path);
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
  await discardAll(staged.values());
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

/** A draft that is published as a set. */
interface DraftSet {
  id: string;
  revision: number;
  record: object;
  files: readonly DraftFileRow[];
}

interface SetPublishing {
  store: Store;
  contents: DraftContents;
  /** Through which the packs are recorded. */
  writes: Store;
  /** The largest size of the files of a part. */
  partBytes: number;
  signal: AbortSignal;
  progress: (bytes: number) => void;
  /** @throws Problem `data_cap_reached`, `disk_nearly_full` */
  requireSpace: (bytes: number) => void;
  /** Ends the draft, in the transaction that records the manifest. */
  end: (database: WriteDatabase, pack: string) => void;
}

/**
 * Publishes a draft as a set: its parts one after the other, the manifest last. Each part is noted with the draft in the
 * transaction that records it, so a publishing that was interrupted goes on with the next one.
 *
 * @throws Problem like `addPack`; the signal's reason
 */
async function publishSet(publishing: SetPublishing, draft: DraftSet): Promise<AddedPack> {
  const { store, writes, signal, progress, end } = publishing;
  const { record } = checkRecord({ ...draft.record, files: [] });
  requireNewPaths(draft.files.map(({ path }) => path));
  requireReferences(store.read, record);
  const parts: SetFile['parts'][] = draft.files.map(() => []);
  let done = 0;
  for (const [position, planned] of planSet(draft.files, publishing.partBytes).entries()) {
    signal.throwIfAborted();
    const part =
      finishedPart(publishing, draft, position, planned) ??
      (await publishPart(publishing, draft, record, { position, planned }));
    for (const { file, path, bytes, isPiece } of planned) {
      const sha256 = isPiece ? part.piece : draft.files[file]?.sha256;
      parts[file]?.push({ pack: part.pack, path, bytes, sha256: sha256 ?? '' });
      done += bytes;
    }
    progress(done);
  }
  const staged = await store.blobs.staging.stage(
    inSteps(manifestText(draft.files.map((file, index) => fileOfSet(file, parts[index] ?? [])))),
    MAX_PACK_BYTES,
  );
  const checked = checkRecord(manifestRecord(record, { sha256: staged.sha256, bytes: staged.bytes }));
  return addPack(writes, {
    checked,
    staged: new Map([[SET_FILE, staged]]),
    onRecorded: (database) => end(database, checked.id),
    reserveSpace: async (bytes) => publishing.requireSpace(bytes),
    repairStore: store,
  });
}

async function* inSteps(chunks: Iterable<Buffer>): AsyncGenerator<Buffer> {
  for (const chunk of chunks) {
    yield chunk;
    await yieldToEventLoop();
  }
}

function fileOfSet({ path, bytes, sha256 }: DraftFileRow, parts: SetFile['parts']): SetFile {
  return { path, bytes, sha256, parts };
}

interface PlannedPart {
  position: number;
  planned: readonly PlannedFile[];
}

interface FinishedPart {
  pack: string;
  piece: string | null;
}

/** Returns a part that was published before the interruption, if its pack has what is planned now. */
function finishedPart(
  { store: { read } }: SetPublishing,
  draft: DraftSet,
  position: number,
  planned: readonly PlannedFile[],
): FinishedPart | undefined {
  const found = draftPart(read, draft.id, draft.revision, position);
  const pack = found && packById(read, found.pack);
  if (!pack || pack.files !== planned.length) return undefined;
  const isAsPlanned = planned.every(({ file, path, bytes, isPiece }) => {
    const held = fileOfPack(read, pack.ledger_entry, path);
    const sha256 = isPiece ? found.piece : draft.files[file]?.sha256;
    return held?.bytes === bytes && held.sha256 === sha256;
  });
  return isAsPlanned ? found : undefined;
}

async function publishPart(
  publishing: SetPublishing,
  draft: DraftSet,
  record: PackRecord,
  { position, planned }: PlannedPart,
): Promise<FinishedPart> {
  const { store, writes, requireSpace } = publishing;
  const staged = new Map<string, StagedBlob>();
  try {
    for (const each of planned) {
      const blob = await stageFile(publishing, draft, each);
      if (blob) staged.set(each.path, blob);
    }
  } catch (error) {
    await discardAll(staged.values());
    throw error;
  }
  const files = planned.map(({ file, path, bytes, isPiece }): PackFile => {
    const { sha256 = '', media_type = '' } = draft.files[file] ?? {};
    if (!isPiece) return { path, sha256, bytes, media_type };
    return {
      path,
      sha256: staged.get(path)?.sha256 ?? sha256,
      bytes,
      media_type: 'application/octet-stream',
    };
  });
  const piece = planned[0]?.isPiece ? (files[0]?.sha256 ?? null) : null;
  const checked = checkRecord(partRecord(record, files));
  const row = { draft: draft.id, revision: draft.revision, position, pack: checked.id, piece };
  const whole = draft.files[planned[0]?.file ?? 0]?.sha256;
  const note = (database: WriteDatabase) => putDraftPart(database, row);
  const added = await addPack(writes, {
    checked,
    staged,
    isPartial: true,
    pieceOf: piece === null ? undefined : whole,
    onRecorded: note,
    reserveSpace: async (bytes) => requireSpace(bytes),
    repairStore: store,
  });
  if (!added.created) await store.write(note);
  return row;
}

/** Stages a file of the draft, or a piece of it. Returns undefined if it is not in the draft, but in the archive. */
async function stageFile(
  { store, contents }: SetPublishing,
  draft: DraftSet,
  { file, start, bytes, isPiece }: PlannedFile,
): Promise<StagedBlob | undefined> {
  const { sha256 = '', path = '' } = draft.files[file] ?? {};
  const range = isPiece ? { start, end: start + bytes - 1 } : {};
  const { staging } = store.blobs;
  try {
    const kept = createReadStream(contents.fileOf(draft.id, sha256), { highWaterMark: 262_144, ...range });
    const staged = await staging.stage(kept as AsyncIterable<Buffer>, MAX_PACK_BYTES);
    if (isPiece ? staged.bytes === bytes : staged.sha256 === sha256) return staged;
    await staged.discard();
  } catch (error) {
    if (!isMissing(error) && !isUnreadable(error)) throw error;
  }
  if (!isPiece) return undefined;
  const staged = await staging
    .stage(store.blobs.read(sha256, range), MAX_PACK_BYTES)
    .catch((error: unknown) => {
      if (!isMissing(error) && !isUnreadable(error)) throw error;
      throw new Problem(
        'unknown_blob',
        `${path}: the archive does not have ${sha256}. Send the file itself.`,
      );
    });
  return staged;
}
