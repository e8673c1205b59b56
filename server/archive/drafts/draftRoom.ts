import { MAX_ALL_DRAFTS_BYTES, MAX_DRAFT_BYTES, MAX_PACK_FILES } from '../../../shared/limits.ts';
import {
  type DraftFileRow,
  draftById,
  draftListRow,
  draftTotals,
  putDraftFile,
  touchDraft,
} from '../../store/sqlite/archive/drafts.ts';
import type { ReadDatabase, WriteDatabase } from '../../store/sqlite/engine/open.ts';
import { isReleased } from '../../store/sqlite/node/withheld.ts';

/** What one draft may hold, and the bytes of all drafts together. */
export interface DraftCapacity {
  files: number;
  bytes: number;
  all: number;
}

/** The limits that `requireWithinLimits` enforces. */
export const DRAFT_CAPACITY: DraftCapacity = {
  files: MAX_PACK_FILES,
  bytes: MAX_DRAFT_BYTES,
  all: MAX_ALL_DRAFTS_BYTES,
};

/** Returns how many more files and bytes a draft may hold; a new one if no draft is named, or it is gone. */
export function roomInDraft(
  database: ReadDatabase,
  id: string | undefined,
  most: DraftCapacity,
): { files: number; bytes: number } {
  const { files = 0, bytes = 0 } = (id === undefined ? undefined : draftListRow(database, id)) ?? {};
  const all = draftTotals(database).bytes;
  return { files: most.files - files, bytes: Math.max(0, Math.min(most.bytes - bytes, most.all - all)) };
}

/**
 * Adds a file whose bytes the archive has to a draft, in an open transaction, in place of the one at its path.
 *
 * @returns why it was not added: the draft is gone or published, has no room, or the archive gave these bytes up
 */
export function addArchivedFile(
  database: WriteDatabase,
  id: string,
  file: DraftFileRow,
  { at, most }: { at: string; most: DraftCapacity },
): 'added' | 'closed' | 'no_room' | 'released' {
  const draft = draftById(database, id);
  if (!draft || draft.pack !== null) return 'closed';
  if (isReleased(database, file.sha256)) return 'released';
  const room = roomInDraft(database, id, most);
  if (room.files < 1 || file.bytes > room.bytes) return 'no_room';
  putDraftFile(database, id, file);
  touchDraft(database, id, at);
  return 'added';
}
