import { z } from 'zod';
import { commentIdSchema, itemIdSchema, newCommentSchema } from '../../shared/archive/comment.ts';
import { newFlagSchema } from '../../shared/archive/pack.ts';
import { newStatusSchema, newStudySchema } from '../../shared/archive/study.ts';
import { newNodeSchema, nodePathSchema } from '../../shared/archive/treeNode.ts';
import { observerSchema } from '../../shared/collection/captures.ts';
import { eventTypeSchema, pageLabelSchema, SELF } from '../../shared/collection/event.ts';
import { followSchema } from '../../shared/collection/follow.ts';
import { noiseRulesSchema } from '../../shared/collection/noise.ts';
import {
  captureIdentitySchema,
  recordedRetrievalSchema,
  redirectSchema,
  retrievalErrorSchema,
} from '../../shared/collection/retrieval.ts';
import {
  activeHoursSchema,
  cronSchema,
  timeZoneSchema,
} from '../../shared/collection/schedule/scheduleFields.ts';
import { newSourceSchema, sourceStateSchema } from '../../shared/collection/source.ts';
import { storedCaseSchema } from '../../shared/findings/case.ts';
import { recordedFindingSchema } from '../../shared/findings/finding.ts';
import { damageProblemSchema } from '../../shared/ledger/fixity.ts';
import { keyRenewalSchema, rollbackSchema } from '../../shared/ledger/keyChange.ts';
import { ledgerEntrySchema } from '../../shared/ledger/ledger.ts';
import { packProvenanceSchema, peerRewriteSchema } from '../../shared/node/peer.ts';
import { digestSchema, packIdSchema, sourceIdSchema, studyIdSchema } from '../../shared/values/digest.ts';
import { instantSchema, isHttpUrl } from '../../shared/values/text.ts';

/*
 * The schemas of a dump's lines. Each value has the same rules as in a request; all fields are required and no others
 * are allowed. Only URLs that a server redirected to may have any length.
 */

const number = z.int().min(1);
const count = z.int().min(0);
const flag = z.union([z.literal(0), z.literal(1)]);
const httpUrl = z.string().refine(isHttpUrl, 'An absolute http or https URL is required.');
/** A normalized URL: percent-encoding may have made it nine times as long as the URL that was entered. */
const sourceUrl = httpUrl.max(9 * 4_096).refine((value) => {
  const url = URL.parse(value);
  return url === null || (url.username === '' && url.password === '');
}, 'A URL with a user name or password is not allowed.');
const status = z.int().min(0).max(999);
const observer = z.union([z.literal(SELF), observerSchema]);
const rulesDigest = z
  .string()
  .regex(/^[0-9a-f]{20}$/, 'The digest of the rules must be 20 lowercase hexadecimal digits.');

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

/** A dump contains the names of request headers and not their values. */
const headerNames = z
  .array(z.string())
  .refine(
    (names) =>
      newSourceSchema.shape.headers.unwrap().safeParse(Object.fromEntries(names.map((name) => [name, ''])))
        .success,
    'These are not valid names of request headers of a source.',
  );

const sourceSettings = {
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

/** Settings that came later. A revision has only those that are set. */
const laterSettings = {
  every: cronSchema,
  time_zone: timeZoneSchema,
  active_hours: activeHoursSchema,
  follow: followSchema,
  found_in: sourceIdSchema,
};

export const sourceLine = line('source', {
  ...sourceSettings,
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
  // Dumps from before noise rules existed have neither.
  noise_rules: noiseRulesSchema.nullable().optional(),
  rules_digest: rulesDigest.nullable().optional(),
  // Dumps from before schedules and followed sources existed have none of these.
  every: laterSettings.every.nullable().optional(),
  time_zone: laterSettings.time_zone.nullable().optional(),
  active_hours: laterSettings.active_hours.nullable().optional(),
  follow: laterSettings.follow.nullable().optional(),
  found_in: laterSettings.found_in.nullable().optional(),
});

export const revisionLine = line('source_revision', {
  ledger_entry: number,
  source_key: number,
  record: z.strictObject({
    ...sourceSettings,
    ignore_robots: z.boolean(),
    paused: z.boolean(),
    removed: z.boolean(),
    noise_rules: noiseRulesSchema.optional(),
    every: laterSettings.every.optional(),
    time_zone: laterSettings.time_zone.optional(),
    active_hours: laterSettings.active_hours.optional(),
    follow: laterSettings.follow.optional(),
    found_in: laterSettings.found_in.optional(),
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

const payloadDigest = z.string().regex(/^[a-z0-9]{1,20}:[0-9a-f]{1,256}$/, 'This is not a digest.');
const capture = captureIdentitySchema.extend({ payload_digest: payloadDigest.nullable() });

const retrieved = {
  id: number,
  round: number.nullable(),
  url: sourceUrl,
  final_url: httpUrl,
  redirects: z.array(redirectSchema.extend({ url: httpUrl, status })),
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
  connection: recordedRetrievalSchema.shape.connection,
  leaf: digestSchema,
});

/** The form from before the ledger covered retrievals. The oldest ones have no `request`. */
export const oldRetrievalLine = line('retrieval', {
  ...retrieved,
  source_key: number,
  request: retrieved.request.optional(),
});

/** In older dumps; now part of the retrieval's line. */
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
