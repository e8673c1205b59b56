import { z } from 'zod';
import { commentIdSchema, itemIdSchema, newCommentSchema } from '../../shared/archive/comment.ts';
import { newFlagSchema } from '../../shared/archive/pack.ts';
import { newStatusSchema, newStudySchema } from '../../shared/archive/study.ts';
import { newNodeSchema, nodePathSchema } from '../../shared/archive/treeNode.ts';
import { storedCaseSchema } from '../../shared/findings/case.ts';
import { recordedFindingSchema } from '../../shared/findings/finding.ts';
import { damageProblemSchema } from '../../shared/ledger/fixity.ts';
import { keyRenewalSchema, rollbackSchema } from '../../shared/ledger/keyChange.ts';
import { ledgerEntrySchema } from '../../shared/ledger/ledger.ts';
import { packProvenanceSchema, peerRewriteSchema } from '../../shared/node/peer.ts';
import { digestSchema, packIdSchema, studyIdSchema } from '../../shared/values/digest.ts';
import { instantSchema } from '../../shared/values/text.ts';
import { count, httpUrl, line, number } from './line.ts';

/*
 * The schemas of a dump's lines. Each value has the same rules as in a request; all fields are required and no others
 * are allowed. Only URLs that a server redirected to may have any length.
 */

export const headerLine = line('header', {
  format: z.int(),
  node: z.string(),
  key: z.string(),
  made_at: instantSchema,
  checkpoint: z.string(),
});

export const trailerLine = line('trailer', {
  counts: z.record(z.string(), count),
  sha256: digestSchema,
});

export const entryLine = line('entry', ledgerEntrySchema.shape);

export const nodeLine = line('node', {
  path: nodePathSchema,
  title: newNodeSchema.shape.title,
  description: newNodeSchema.shape.description.unwrap(),
  created_at: instantSchema,
  ledger_entry: number,
});

export const studyLine = line('study', {
  id: studyIdSchema,
  title: newStudySchema.shape.title,
  question: newStudySchema.shape.question.unwrap(),
  description: newStudySchema.shape.description.unwrap(),
  node: newStudySchema.shape.node.unwrap(),
  status: newStudySchema.shape.status.unwrap(),
  created_at: instantSchema,
  ledger_entry: number,
});

export const statusLine = line('study_status', {
  study: studyIdSchema,
  status: newStatusSchema.shape.status,
  note: newStatusSchema.shape.note.unwrap(),
  at: instantSchema,
  ledger_entry: number,
});

/** The record is checked by `checkRecord`, like that of an upload. */
export const packLine = line('pack', {
  id: packIdSchema,
  digest: digestSchema,
  received_at: instantSchema,
  ledger_entry: number,
  record: z.custom<Record<string, unknown>>((value) => typeof value === 'object' && value !== null),
});

export const flagLine = line('flag', {
  pack: packIdSchema,
  reason: newFlagSchema.shape.reason,
  note: newFlagSchema.shape.note.unwrap(),
  at: instantSchema,
  ledger_entry: number,
});

export const commentLine = line('comment', {
  id: commentIdSchema,
  item: itemIdSchema,
  author: newCommentSchema.shape.author,
  body: newCommentSchema.shape.body,
  reply_to: newCommentSchema.shape.reply_to.unwrap(),
  at: instantSchema,
  ledger_entry: number,
});

export const damageLine = line('object_damage', {
  ledger_entry: number,
  sha256: digestSchema,
  bytes: count,
  problem: damageProblemSchema,
  found: digestSchema.nullable(),
  at: instantSchema,
});

export const restorationLine = line('object_restoration', {
  ledger_entry: number,
  damage: number,
  sha256: digestSchema,
  at: instantSchema,
});

export const keyChangeLine = z.discriminatedUnion('type', [
  line('key_change', { ledger_entry: number, type: z.literal('key.renewed'), record: keyRenewalSchema }),
  line('key_change', { ledger_entry: number, type: z.literal('ledger.rolled_back'), record: rollbackSchema }),
]);

export const peerRewriteLine = line('peer_rewrite', { ledger_entry: number, record: peerRewriteSchema });

export const findingLine = line('finding', { ...recordedFindingSchema.shape, ledger_entry: number });

export const caseLine = line('case', { key: number, ...storedCaseSchema.shape });

export const provenanceLine = line('pack_provenance', { ledger_entry: number, record: packProvenanceSchema });

const hex = z.string().regex(/^([0-9a-f]{2})+$/, 'This is not in hexadecimal digits.');
const short = z.string().min(1).max(1_000);
const checkpointNote = z.string().max(65_536);

export const timestampLine = line('timestamp', {
  id: z.string().regex(/^ts_[0-9a-f]{20}$/, 'This is not the id of a timestamp.'),
  authority: httpUrl,
  at: instantSchema,
  received_at: instantSchema,
  size: count,
  root: digestSchema,
  serial: short,
  text: checkpointNote,
  reply: hex.max(2_097_152),
});

export const cosignatureLine = line('cosignature', {
  witness: short,
  origin: short,
  size: count,
  root: digestSchema,
  line: short,
  at: instantSchema,
  received_at: instantSchema,
});

export const witnessedLogLine = line('witnessed_log', {
  origin: short,
  key: short,
  added_at: instantSchema,
  removed_at: instantSchema.nullable(),
  size: count,
  root: digestSchema.nullable(),
  note: checkpointNote.nullable(),
  cosigned_at: instantSchema.nullable(),
});

export const witnessRefusalLine = line('witness_refusal', {
  id: number,
  origin: short,
  at: instantSchema,
  known_size: count,
  known_note: checkpointNote.nullable(),
  size: count,
  body: checkpointNote,
  request: checkpointNote,
});
