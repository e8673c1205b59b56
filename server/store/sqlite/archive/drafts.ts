import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';

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
export function draftPage(database: ReadDatabase, limit: number, offset: number): DraftListRow[] {
  return statement<DraftListRow>(
    database,
    `${LISTED} WHERE pack IS NULL GROUP BY id ORDER BY changed_at DESC, id LIMIT ? OFFSET ?`,
  ).all(limit, offset);
}

export function draftListRow(database: ReadDatabase, id: string): DraftListRow | undefined {
  return statement<DraftListRow>(database, `${LISTED} WHERE id = ? GROUP BY id`).get(id);
}

export function draftById(database: ReadDatabase, id: string): DraftRow | undefined {
  return statement<DraftRow>(database, 'SELECT * FROM drafts WHERE id = ?').get(id);
}

/** Returns the number of drafts that are not published, and the size of the files of all drafts. */
export function draftTotals(database: ReadDatabase): { drafts: number; bytes: number } {
  return statement<{ drafts: number; bytes: number }>(
    database,
    `SELECT (SELECT count(*) FROM drafts WHERE pack IS NULL) AS drafts,
     (SELECT ifnull(sum(bytes), 0) FROM draft_files) AS bytes`,
  ).get() as { drafts: number; bytes: number };
}

export function insertDraft(database: WriteDatabase, draft: Omit<DraftRow, 'pack'>): void {
  statement(
    database,
    `INSERT INTO drafts (id, title, record, form, revision, created_at, changed_at)
     VALUES (@id, @title, @record, @form, @revision, @created_at, @changed_at)`,
  ).run(draft);
}

/** Replaces the record and counts its revision. */
export function updateDraft(
  database: WriteDatabase,
  draft: Pick<DraftRow, 'id' | 'title' | 'record' | 'form' | 'changed_at'>,
): void {
  statement(
    database,
    `UPDATE drafts SET title = @title, record = @record, form = @form, changed_at = @changed_at,
     revision = revision + 1 WHERE id = @id`,
  ).run(draft);
}

export function touchDraft(database: WriteDatabase, id: string, at: string): void {
  statement(database, 'UPDATE drafts SET changed_at = ? WHERE id = ?').run(at, id);
}

export function deleteDraft(database: WriteDatabase, id: string): void {
  statement(database, 'DELETE FROM drafts WHERE id = ?').run(id);
}

/** Ends a draft as a pack. Of all published drafts, the last `kept` are known afterwards. */
export function endDraft(
  database: WriteDatabase,
  { id, pack, at, kept }: { id: string; pack: string; at: string; kept: number },
): void {
  statement(
    database,
    `UPDATE drafts SET pack = ?, record = '{}', form = NULL, changed_at = ? WHERE id = ?`,
  ).run(pack, at, id);
  statement(database, 'DELETE FROM draft_files WHERE draft = ?').run(id);
  statement(
    database,
    `DELETE FROM drafts WHERE id IN
     (SELECT id FROM drafts WHERE pack IS NOT NULL ORDER BY changed_at DESC, id LIMIT -1 OFFSET ?)`,
  ).run(kept);
}

/** Returns the files of a draft by path. */
export function draftFiles(database: ReadDatabase, draft: string): DraftFileRow[] {
  return statement<DraftFileRow>(
    database,
    'SELECT path, sha256, bytes, media_type FROM draft_files WHERE draft = ? ORDER BY path',
  ).all(draft);
}

/** Adds a file to a draft, in place of the one at its path. */
export function putDraftFile(database: WriteDatabase, draft: string, file: DraftFileRow): void {
  statement(
    database,
    `INSERT INTO draft_files (draft, path, sha256, bytes, media_type) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET sha256 = excluded.sha256, bytes = excluded.bytes, media_type = excluded.media_type`,
  ).run(draft, file.path, file.sha256, file.bytes, file.media_type);
}

export function deleteDraftFile(database: WriteDatabase, draft: string, path: string): void {
  statement(database, 'DELETE FROM draft_files WHERE draft = ? AND path = ?').run(draft, path);
}
