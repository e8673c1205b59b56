import { createReadStream } from 'node:fs';
import pLimit from 'p-limit';
import { MAX_PACK_BYTES } from '../../../shared/limits.ts';
import { isMissing, isUnreadable, type StagedBlob } from '../../store/blobs/blobStore.ts';
import { type DraftFileRow, draftFiles, endDraft } from '../../store/sqlite/archive/drafts.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import type { Store } from '../../store/store.ts';
import type { AdmittedWrite } from '../limits/writeLimits.ts';
import { type AddedPack, addPack } from '../packs/addPack.ts';
import { readPackText } from '../packs/readPack.ts';
import { checkRecord } from '../packs/record.ts';
import type { DraftContents } from './draftContents.ts';
import { changedMeanwhile, requireDraft } from './draftRules.ts';

/** How many published drafts are known, so that a repeated request gets its pack. */
const KEPT_PUBLISHED = 100;
const MAX_CONCURRENT_FILES = 8;

export interface Publishing {
  store: Store;
  contents: DraftContents;
  admitted: AdmittedWrite;
}

/**
 * Publishes a draft as a pack. The draft ends in the transaction that records the pack, so a crash leaves either the whole
 * draft or the pack. A draft that is published already gives its pack again.
 *
 * @param revision the record that the caller has seen; without it, the current one is published
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
    const isSame = JSON.stringify(draftFiles(database, id)) === JSON.stringify(files);
    if (now.revision !== draft.revision || !isSame) throw changedMeanwhile();
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
