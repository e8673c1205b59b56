import type { Comment } from '../../../../shared/archive/comment.ts';
import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';

const COLUMNS = 'id, item, author, body, reply_to, at, ledger_entry FROM comments';

export function insertComment(database: WriteDatabase, comment: Comment): void {
  statement(
    database,
    `INSERT INTO comments (ledger_entry, id, item, author, body, reply_to, at)
     VALUES ($ledger_entry, $id, $item, $author, $body, $reply_to, $at)`,
  ).run(comment);
}

/** Returns a comment by id, on any item. */
export function commentById(database: ReadDatabase, id: string): Comment | undefined {
  return statement<Comment>(database, `SELECT ${COLUMNS} WHERE id = ?`).get(id);
}

/** Returns a page of an item's comments, oldest first, and their total number. */
export function selectComments(
  database: ReadDatabase,
  item: string,
  { limit, offset }: { limit: number; offset: number },
): { items: Comment[]; total: number } {
  const total =
    statement<{ total: number }>(database, 'SELECT count(*) AS total FROM comments WHERE item = ?').get(item)
      ?.total ?? 0;
  const items = statement<Comment>(
    database,
    `SELECT ${COLUMNS} WHERE item = ? ORDER BY ledger_entry LIMIT ? OFFSET ?`,
  ).all(item, limit, offset);
  return { items, total };
}

/** Iterates over all comments with their ledger entries, in ledger order. */
export function iterateComments(database: ReadDatabase): IterableIterator<Comment> {
  return statement<Comment>(database, `SELECT ${COLUMNS} ORDER BY ledger_entry`).iterate();
}
