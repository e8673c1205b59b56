import type { ReadDatabase, WriteDatabase } from '../engine/open.ts';
import { change, countRows, inserts, selectAll, selectOne, selectValue, upserts } from '../engine/queries.ts';

/** A draft of a pack. `record` and `form` are JSON. */
export interface DraftRow {
  id: string;
  title: string;
  record: string;
  form: string | null;
  revision: number;
  created_at: string;
  changed_at: string;
  /** The pack that it was published as. */
  pack: string | null;
}

export interface DraftFileRow {
  path: string;
  sha256: string;
  bytes: number;
  media_type: string;
}

/** A draft in a list, with the number and the total size of its files. */
export type DraftListRow = Omit<DraftRow, 'record' | 'form'> & { files: number; bytes: number };

const LISTED = `SELECT id, title, revision, created_at, changed_at, pack, count(path) AS files,
  ifnull(sum(bytes), 0) AS bytes FROM drafts LEFT JOIN draft_files ON draft = id`;

/** Returns a page of the drafts that are not published, last changed first. */
export const draftPage = selectAll<DraftListRow, [limit: number, offset: number]>(
  `${LISTED} WHERE pack IS NULL GROUP BY id ORDER BY changed_at DESC, id LIMIT ? OFFSET ?`,
);

export const draftListRow = selectOne<DraftListRow, [id: string]>(`${LISTED} WHERE id = ? GROUP BY id`);

export const draftById = selectOne<DraftRow, [id: string]>('SELECT * FROM drafts WHERE id = ?');

/** Returns the number of drafts that are not published, and the size of the files of all drafts. */
export function draftTotals(database: ReadDatabase): { drafts: number; bytes: number } {
  return { drafts: countDrafts(database), bytes: draftBytes(database) };
}
const countDrafts = countRows('drafts WHERE pack IS NULL');
const draftBytes = selectValue<number>('SELECT sum(bytes) FROM draft_files', 0);

export const insertDraft = inserts<Omit<DraftRow, 'pack'>>(
  'drafts',
  'id, title, record, form, revision, created_at, changed_at',
);

/** Replaces the record and counts its revision. */
export const updateDraft = change<
  [draft: Pick<DraftRow, 'id' | 'title' | 'record' | 'form' | 'changed_at'>]
>(`
  UPDATE drafts SET title = $title, record = $record, form = $form, changed_at = $changed_at,
  revision = revision + 1 WHERE id = $id`);

/** Counts a change of the files as a revision. */
export const touchDraft = change<[draft: { id: string; at: string }]>(
  'UPDATE drafts SET changed_at = $at, revision = revision + 1 WHERE id = $id',
);

export const deleteDraft = change<[id: string]>('DELETE FROM drafts WHERE id = ?');

/** Ends a draft as a pack. Of all published drafts, the last `kept` are known afterwards. */
export function endDraft(
  database: WriteDatabase,
  { id, pack, at, kept }: { id: string; pack: string; at: string; kept: number },
): void {
  setPack(database, { id, pack, at });
  deleteFiles(database, id);
  deleteParts(database, id);
  deleteEnded(database, kept);
}

const setPack = change<[draft: { id: string; pack: string; at: string }]>(
  "UPDATE drafts SET pack = $pack, record = '{}', form = NULL, changed_at = $at WHERE id = $id",
);
const deleteFiles = change<[draft: string]>('DELETE FROM draft_files WHERE draft = ?');
const deleteParts = change<[draft: string]>('DELETE FROM draft_parts WHERE draft = ?');
const deleteEnded = change<[kept: number]>(`
  DELETE FROM drafts WHERE id IN
  (SELECT id FROM drafts WHERE pack IS NOT NULL ORDER BY changed_at DESC, id LIMIT -1 OFFSET ?)`);

/** Returns the files of a draft by path. */
export const draftFiles = selectAll<DraftFileRow, [draft: string]>(
  'SELECT path, sha256, bytes, media_type FROM draft_files WHERE draft = ? ORDER BY path',
);

/** Returns the file of a draft at a path, or undefined. */
export const draftFile = selectOne<DraftFileRow, [draft: string, path: string]>(
  'SELECT path, sha256, bytes, media_type FROM draft_files WHERE draft = ? AND path = ?',
);

/** Adds a file to a draft, in place of the one at its path. */
export function putDraftFile(database: WriteDatabase, draft: string, file: DraftFileRow): void {
  putFile(database, { draft, ...file });
}
const putFile = upserts<DraftFileRow & { draft: string }>('draft_files', {
  key: 'draft, path',
  columns: 'sha256, bytes, media_type',
});

export const deleteDraftFile = change<[draft: string, path: string]>(
  'DELETE FROM draft_files WHERE draft = ? AND path = ?',
);

/** Notes that a record is being imported into a draft. */
export const insertDraftImport = change<[draft: string, address: string]>(
  'INSERT INTO draft_imports (draft, address) VALUES (?, ?) ON CONFLICT DO NOTHING',
);

export const deleteDraftImport = change<[draft: string]>('DELETE FROM draft_imports WHERE draft = ?');

/** Returns the draft into which the record at an address is still to be imported, if it is not published. */
export const draftOfImport = selectValue<string, [address: string]>(
  `SELECT i.draft FROM draft_imports i JOIN drafts d ON d.id = i.draft
   WHERE i.address = ? AND d.pack IS NULL ORDER BY d.changed_at DESC LIMIT 1`,
);

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

export const putDraftPart = upserts<DraftPartRow>('draft_parts', {
  key: 'draft, revision, position',
  columns: 'pack, piece',
});

export const draftPart = selectOne<
  Pick<DraftPartRow, 'pack' | 'piece'>,
  [draft: string, revision: number, position: number]
>('SELECT pack, piece FROM draft_parts WHERE draft = ? AND revision = ? AND position = ?');
