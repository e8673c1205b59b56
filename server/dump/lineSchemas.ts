import { z } from 'zod';
import { observerSchema } from '../../shared/captures.ts';
import { commentIdSchema, itemIdSchema, newCommentSchema } from '../../shared/comment.ts';
import { digestSchema, packIdSchema, sourceIdSchema, studyIdSchema } from '../../shared/digest.ts';
import { eventTypeSchema, pageLabelSchema, SELF } from '../../shared/event.ts';
import { damageProblemSchema } from '../../shared/fixity.ts';
import { ledgerEntrySchema } from '../../shared/ledger.ts';
import { newNodeSchema, nodePathSchema } from '../../shared/node.ts';
import { noiseRulesSchema } from '../../shared/noise.ts';
import { newFlagSchema } from '../../shared/pack.ts';
import {
  captureIdentitySchema,
  newSourceSchema,
  recordedRetrievalSchema,
  retrievalErrorSchema,
  sourceStateSchema,
} from '../../shared/source.ts';
import { newStatusSchema, newStudySchema } from '../../shared/study.ts';
import { instantSchema, isHttpUrl } from '../../shared/text.ts';

/*
 * The lines of a dump: every value by the rule that it has to keep where it comes by HTTP, nothing left out and nothing
 * beside. Addresses that a server redirected to may be of any length.
 */

const number = z.int().min(1);
const count = z.int().min(0);
const flag = z.union([z.literal(0), z.literal(1)]);
const httpUrl = z.string().refine(isHttpUrl, 'An absolute http or https address is needed.');
/** As it is watched: percent signs may have made it nine times as long as it was said. */
const sourceUrl = httpUrl.max(9 * 4_096).refine((value) => {
  const url = URL.parse(value);
  return url === null || (url.username === '' && url.password === '');
}, 'An address with a user name or password in it is not taken.');
const status = z.int().min(0).max(999);
const observer = z.union([z.literal(SELF), observerSchema]);
const rulesDigest = z.string().regex(/^[0-9a-f]{20}$/, 'The digest of rules is 20 lowercase hex digits.');

function line<Kind extends string, Shape extends z.core.$ZodLooseShape>(kind: Kind, shape: Shape) {
  return z.strictObject({ kind: z.literal(kind), ...shape });
}

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

/** The record itself is checked as an upload's is. */
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

/** The values of headers are in no dump; their names keep the rules of headers. */
const headerNames = z
  .array(z.string())
  .refine(
    (names) =>
      newSourceSchema.shape.headers.unwrap().safeParse(Object.fromEntries(names.map((name) => [name, ''])))
        .success,
    'These are not names of headers that a source may have.',
  );

const saidOfSource = {
  id: sourceIdSchema,
  url: sourceUrl,
  name: newSourceSchema.shape.name.unwrap(),
  agency: newSourceSchema.shape.agency.unwrap(),
  tags: newSourceSchema.shape.tags.unwrap(),
  every_minutes: newSourceSchema.shape.every_minutes.unwrap(),
  max_object_mb: newSourceSchema.shape.max_object_mb.unwrap(),
  header_names: headerNames,
  added_at: instantSchema,
};

export const sourceLine = line('source', {
  ...saidOfSource,
  key: number,
  ignore_robots: flag,
  paused: flag,
  removed: flag,
  revision: number,
  state: sourceStateSchema,
  failures: count,
  missing_since: instantSchema.nullable(),
  consecutive: count,
  failing_since: instantSchema.nullable(),
  last_checked_at: instantSchema.nullable(),
  next_check_at: instantSchema.nullable(),
  last_status: status.nullable(),
  last_error: retrievalErrorSchema.nullable(),
  last_sha256: digestSchema.nullable(),
  last_event_type: eventTypeSchema.nullable(),
  // Dumps that were made before there were rules have neither.
  noise_rules: noiseRulesSchema.nullable().optional(),
  rules_digest: rulesDigest.nullable().optional(),
});

export const revisionLine = line('source_revision', {
  ledger_entry: number,
  source_key: number,
  record: z.strictObject({
    ...saidOfSource,
    ignore_robots: z.boolean(),
    paused: z.boolean(),
    removed: z.boolean(),
    noise_rules: noiseRulesSchema.optional(),
  }),
});

export const roundLine = line('round', {
  id: number,
  started_by: z.enum(['schedule', 'owner']),
  started_at: instantSchema,
  ended_at: instantSchema.nullable(),
  completed: flag,
  observer_offline: flag,
  checked: count,
  unchanged: count,
  changed: count,
  failed: count,
});

export const batchLine = line('retrieval_batch', {
  ledger_entry: number,
  first: number,
  last: number,
  root: digestSchema,
});

const payloadDigest = z.string().regex(/^[a-z0-9]{1,20}:[0-9a-f]{1,256}$/, 'This is no digest.');
const capture = captureIdentitySchema.extend({ payload_digest: payloadDigest.nullable() });

const retrieved = {
  id: number,
  round: number.nullable(),
  url: sourceUrl,
  final_url: httpUrl,
  redirects: z.array(z.strictObject({ url: httpUrl, status })),
  observer,
  observed_at: instantSchema,
  original_observed_at: instantSchema.nullable(),
  status: status.nullable(),
  error: retrievalErrorSchema.nullable(),
  content_type: z.string().nullable(),
  headers: recordedRetrievalSchema.shape.headers,
  request: recordedRetrievalSchema.shape.request,
  sha256: digestSchema.nullable(),
  bytes: count.nullable(),
  duration_ms: z.int(),
  page_label: pageLabelSchema.nullable(),
};

export const retrievalLine = line('retrieval', {
  ...retrieved,
  source: sourceIdSchema,
  capture: capture.nullable(),
  leaf: digestSchema,
});

/** As it was while the ledger did not cover retrievals; before what was sent was kept, it said nothing of that. */
export const oldRetrievalLine = line('retrieval', {
  ...retrieved,
  source_key: number,
  request: retrieved.request.optional(),
});

/** A line of its own until it became part of its retrieval's. */
export const captureLine = line('capture', { retrieval: number, ...capture.shape });

export const eventLine = line('event', {
  id: number,
  source_key: number,
  retrieval: number,
  event_type: eventTypeSchema,
  observer,
  observed_at: instantSchema,
  original_observed_at: instantSchema.nullable(),
  sha256: digestSchema.nullable(),
  previous_sha256: digestSchema.nullable(),
  reverts_to: number.nullable(),
  page_label: pageLabelSchema.nullable(),
  ledger_entry: number,
});

export const noiseLine = line('event_noise', { event: number, is_noise: flag, rules_digest: rulesDigest });

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
