import { z } from 'zod';
import { packIdSchema, studyIdSchema } from '../values/digest.ts';
import { listQuery, namedObject } from '../values/list.ts';
import { instantSchema, text } from '../values/text.ts';

/** The id of an item, which is a pack or a study. Items can be commented on and cited. */
export const itemIdSchema = z.union([packIdSchema, studyIdSchema]);
export const commentIdSchema = z
  .string()
  .regex(/^co_[0-9a-f]{20}$/, 'A comment id is co_ and 20 hex digits.');

export const newCommentSchema = namedObject('NewComment', {
  author: text(1, 100),
  body: text(1, 10_000),
  reply_to: commentIdSchema.nullable().default(null),
});

export const commentSchema = namedObject('Comment', {
  id: commentIdSchema,
  item: itemIdSchema,
  author: z.string(),
  body: z.string(),
  reply_to: commentIdSchema.nullable(),
  at: instantSchema,
  ledger_entry: z.int(),
});

export const commentsQuery = z.strictObject(listQuery);

export type NewComment = z.output<typeof newCommentSchema>;
export type Comment = z.output<typeof commentSchema>;
