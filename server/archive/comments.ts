import type { Comment, NewComment } from '../../shared/archive/comment.ts';
import { Problem } from '../../shared/problems.ts';
import type { Slice } from '../../shared/values/list.ts';
import { appendEntry } from '../ledger/appendEntry.ts';
import { fingerprintOver } from '../ledger/entry.ts';
import { packById } from '../store/sqlite/archive/packs.ts';
import { studyById } from '../store/sqlite/archive/studies.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import { inserts, onSnapshot, selectEach, selectOne, selectPage } from '../store/sqlite/engine/queries.ts';
import type { Store } from '../store/store.ts';

const COLUMNS = 'id, item, author, body, reply_to, at, ledger_entry';

/** The digest of a comment's ledger entry. */
export const commentDigest: (comment: Omit<Comment, 'ledger_entry'>) => string = fingerprintOver([
  'id',
  'item',
  'author',
  'body',
  'reply_to',
  'at',
]);

/** Requires that an item, which is a pack or a study, exists. @throws Problem `not_found` */
export function requireItem(database: ReadDatabase, id: string): void {
  if (packById(database, id) || studyById(database, id)) return;
  throw new Problem('not_found', `There is no pack or study ${id}.`);
}

/** Adds a comment. @throws Problem `not_found`; `unknown_comment` if `reply_to` is not a comment on this item. */
export async function addComment(
  store: Store,
  item: string,
  { author, body, reply_to }: NewComment,
): Promise<Comment> {
  const id = `co_${store.randomHex(20)}`;
  return store.write((database) => {
    requireItem(database, item);
    if (reply_to !== null && commentById(database, reply_to)?.item !== item) {
      const message = `There is no comment ${reply_to} on this item.`;
      throw new Problem('unknown_comment', message, { errors: [{ path: '/reply_to', message }] });
    }
    const recorded = { id, item, author, body, reply_to, at: store.instant() };
    const { seq } = appendEntry(database, {
      type: 'comment.added',
      subject: id,
      digest: commentDigest(recorded),
      at: recorded.at,
    });
    const comment = { ...recorded, ledger_entry: seq };
    insertComment(database, comment);
    return comment;
  });
}

/** Returns a page of an item's comments, oldest first. @throws Problem `not_found` */
export function listComments(
  { read }: Pick<Store, 'read'>,
  item: string,
  query: { limit: number; offset: number },
): Slice<Comment> {
  return onSnapshot(read, () => {
    requireItem(read, item);
    return commentsPage(read, query, item);
  });
}

const insertComment = inserts<Comment>('comments', COLUMNS);

const commentsPage = selectPage<Comment, [item: string]>({
  columns: COLUMNS,
  from: 'comments WHERE item = ?',
  order: 'ledger_entry',
});

/** Returns a comment by id, on any item. */
export const commentById = selectOne<Comment, [id: string]>(`SELECT ${COLUMNS} FROM comments WHERE id = ?`);

/** Iterates over all comments with their ledger entries, in ledger order. */
export const iterateComments = selectEach<Comment>(`SELECT ${COLUMNS} FROM comments ORDER BY ledger_entry`);
