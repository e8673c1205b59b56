import { z } from 'zod';
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
import { digestSchema, sourceIdSchema } from '../../shared/values/digest.ts';
import { instantSchema } from '../../shared/values/text.ts';
import { count, flag, httpUrl, line, number } from './line.ts';

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
