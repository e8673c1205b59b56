import { createReadStream } from 'node:fs';
import pLimit from 'p-limit';
import { compareByUtf8 } from '../../../shared/archive/filePath.ts';
import { MAX_PACK_BYTES, MAX_PACK_FILES } from '../../../shared/limits.ts';
import { isMissing, isUnreadable, type StagedBlob } from '../../store/blobs/blobStore.ts';
import { type DraftFileRow, draftFiles, endDraft } from '../../store/sqlite/archive/drafts.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import type { Store } from '../../store/store.ts';
import type { AdmittedWrite } from '../limits/writeLimits.ts';
import { type AddedPack, addPack } from '../packs/addPack.ts';
import { checkRecord, packTooLarge } from '../packs/packRows.ts';
import { readPackText } from '../packs/readPack.ts';
import { setTooLarge } from '../sets/checkSet.ts';
import { changedMeanwhile, type DraftContents, requireDraft } from './draftFiles.ts';
import { publishSet, type SetPublishing } from './publishSet.ts';

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
