import { createReadStream } from 'node:fs';
import type { PackFile, PackRecord } from '../../../shared/archive/pack.ts';
import type { SetFile } from '../../../shared/archive/set.ts';
import { type PlannedFile, planSet, SET_FILE } from '../../../shared/archive/setManifest.ts';
import { MAX_PACK_BYTES } from '../../../shared/limits.ts';
import { Problem } from '../../../shared/problems.ts';
import { yieldToEventLoop } from '../../runtime/background.ts';
import { isMissing, isUnreadable, type StagedBlob } from '../../store/blobs/blobStore.ts';
import { draftPart, putDraftPart } from '../../store/sqlite/archive/draftParts.ts';
import type { DraftFileRow } from '../../store/sqlite/archive/drafts.ts';
import { packById } from '../../store/sqlite/archive/packs.ts';
import { fileOfPack } from '../../store/sqlite/archive/sets.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import type { Store } from '../../store/store.ts';
import { type AddedPack, addPack, requireReferences } from '../packs/addPack.ts';
import { checkRecord } from '../packs/packRows.ts';
import { manifestRecord, manifestText, partRecord } from '../sets/setRecords.ts';
import type { DraftContents } from './draftFiles.ts';

/** A draft that is published as a set. */
export interface DraftSet {
  id: string;
  revision: number;
  record: object;
  files: readonly DraftFileRow[];
}

export interface SetPublishing {
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
export async function publishSet(publishing: SetPublishing, draft: DraftSet): Promise<AddedPack> {
  const { store, writes, signal, progress, end } = publishing;
  const { record } = checkRecord({ ...draft.record, files: [] });
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
    await Promise.all([...staged.values()].map((blob) => blob.discard()));
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
  const added = await addPack(writes, {
    checked,
    staged,
    isPartial: true,
    onRecorded: (database) => putDraftPart(database, row),
    reserveSpace: async (bytes) => requireSpace(bytes),
    repairStore: store,
  });
  if (!added.created) await store.write((database) => putDraftPart(database, row));
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
