import type { Comment } from '../../shared/archive/comment.ts';
import type { ArchiveNode } from '../../shared/archive/treeNode.ts';
import { fingerprintOver } from '../ledger/entry.ts';
import type { RecordedSubjects } from '../ledger/verifyLedger.ts';
import { iterateComments } from '../store/sqlite/archive/comments.ts';
import { type FlagRow, iterateFlags } from '../store/sqlite/archive/packs.ts';
import {
  iterateStatuses,
  iterateStudies,
  type StatusRow,
  type StudyRow,
} from '../store/sqlite/archive/studies.ts';
import { iterateTreeNodes } from '../store/sqlite/archive/treeNodes.ts';
import { recordedPacks } from './packs/recordedPacks.ts';

/*
 * The ledger entries of the data-pack archive. The `digest` of an entry is the SHA-256 of the canonical JSON (RFC 8785)
 * of exactly these fields. The API returns all of them, so anyone can recompute the digest:
 *
 * | Type           | Subject       | Recorded fields                                                           |
 * |----------------|---------------|---------------------------------------------------------------------------|
 * | node.created   | the path      | {created_at, description, path, title}                                    |
 * | study.created  | the study id  | {created_at, description, id, node, question, status, title}; `status` is |
 * |                |               | the one it was created with: the first of `status_history`                |
 * | study.status   | the study id  | {at, note, status, study}                                                 |
 * | pack.added     | the pack id   | the record, so that the digest is the pack's fingerprint                  |
 * | pack.flagged   | the pack id   | {at, note, pack, reason}                                                  |
 * | comment.added  | the comment id| {at, author, body, id, item, reply_to}                                    |
 */

export const nodeDigest: (node: Omit<ArchiveNode, 'ledger_entry'>) => string = fingerprintOver([
  'path',
  'title',
  'description',
  'created_at',
]);

type RecordedStudy = Omit<StudyRow, 'ledger_entry' | 'status'> & { status: StudyRow['status'] | null };

export const studyDigest: (study: RecordedStudy) => string = fingerprintOver([
  'id',
  'title',
  'question',
  'description',
  'node',
  'status',
  'created_at',
]);

export const statusDigest: (step: Omit<StatusRow, 'ledger_entry'>) => string = fingerprintOver([
  'study',
  'status',
  'note',
  'at',
]);

export const flagDigest: (flag: FlagRow) => string = fingerprintOver(['pack', 'reason', 'note', 'at']);

export const commentDigest: (comment: Omit<Comment, 'ledger_entry'>) => string = fingerprintOver([
  'id',
  'item',
  'author',
  'body',
  'reply_to',
  'at',
]);

/** For each type, a function that recomputes the digests from the current rows, for the verification of the ledger. */
export const ARCHIVE_SUBJECTS: readonly RecordedSubjects[] = [
  { types: ['node.created'], digests: (database) => digests(iterateTreeNodes(database), nodeDigest) },
  { types: ['study.created'], digests: (database) => digests(iterateStudies(database), studyDigest) },
  { types: ['study.status'], digests: (database) => digests(iterateStatuses(database), statusDigest) },
  { types: ['pack.added'], digests: recordedPacks },
  { types: ['pack.flagged'], digests: (database) => digests(iterateFlags(database), flagDigest) },
  { types: ['comment.added'], digests: (database) => digests(iterateComments(database), commentDigest) },
];

function* digests<Row extends { ledger_entry: number }>(
  rows: Iterable<Row>,
  digestOf: (row: Row) => string,
): Generator<{ seq: number; digest: string }> {
  for (const row of rows) yield { seq: row.ledger_entry, digest: digestOf(row) };
}
