import type { WriteDatabase } from '../engine/open.ts';
import { selectOne, upsert } from '../engine/queries.ts';

/** A part that the publishing of a draft has finished. */
interface DraftPartRow {
  draft: string;
  revision: number;
  /** Its place in the plan. */
  position: number;
  pack: string;
  /** The digest of its only file, if that is a piece of a file of the draft. */
  piece: string | null;
}

export function putDraftPart(database: WriteDatabase, row: DraftPartRow): void {
  upsert(database, 'draft_parts', { key: 'draft, revision, position', columns: 'pack, piece' }, row);
}

export const draftPart = selectOne<
  Pick<DraftPartRow, 'pack' | 'piece'>,
  [draft: string, revision: number, position: number]
>('SELECT pack, piece FROM draft_parts WHERE draft = ? AND revision = ? AND position = ?');
