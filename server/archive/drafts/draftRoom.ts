import { MAX_SET_FILES } from '../../../shared/limits.ts';
import {
  type DraftFileRow,
  draftById,
  draftFile,
  draftListRow,
  draftTotals,
  putDraftFile,
  touchDraft,
} from '../../store/sqlite/archive/drafts.ts';
import type { ReadDatabase, WriteDatabase } from '../../store/sqlite/engine/open.ts';
import { isReleased } from '../../store/sqlite/node/withheld.ts';
import type { DraftLimits } from './draftFiles.ts';

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
  touchDraft(database, id, at);
  return 'added';
}
