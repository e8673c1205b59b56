import { z } from 'zod';
import { recordedObserverSchema } from '../../../shared/collection/captures.ts';
import { eventTypeSchema } from '../../../shared/collection/event.ts';
import { followSchema } from '../../../shared/collection/follow.ts';
import { noiseRulesSchema, watchSchema } from '../../../shared/collection/noise.ts';
import { SELF } from '../../../shared/collection/observers.ts';
import { retrievalErrorSchema } from '../../../shared/collection/retrieval.ts';
import { activeHoursSchema, cronSchema, timeZoneSchema } from '../../../shared/collection/schedule.ts';
import {
  CAPTURE_MODES,
  newSourceSchema,
  PAGE_ERRORS,
  sourceStateSchema,
} from '../../../shared/collection/source.ts';
import { digestSchema, sourceIdSchema } from '../../../shared/values/digest.ts';
import { instantSchema, isNormalUrl } from '../../../shared/values/text.ts';
import { recordedSource } from '../../collection/sources/sourceRevisions.ts';
import { sourceIdOf } from '../../collection/sources/sources.ts';
import { fingerprintOf } from '../../ledger/entry.ts';
import { indexSource, sourceByKey } from '../../store/sqlite/collection/sources.ts';
import { scopeDigest } from '../../store/sqlite/collection/timeline/eventNoise.ts';
import { restoreRow } from '../../store/sqlite/node/dumpedRows.ts';
import {
  count,
  type DumpedArchive,
  type DumpKind,
  flag,
  httpUrl,
  kind,
  line,
  number,
  recorded,
  requireThat,
  stateAfter,
} from '../dumpedArchive.ts';

/** A normalized URL: percent-encoding may have made it nine times as long as the URL that was entered. */
export const sourceUrl = httpUrl
  .max(9 * 4_096)
  .refine((value) => {
    const url = URL.parse(value);
    return url === null || (url.username === '' && url.password === '');
  }, 'A URL with a user name or password is not allowed.')
  .refine(isNormalUrl, 'The URL is not in its normal form.');
export const status = z.int().min(0).max(999);
export const observer = z.union([z.literal(SELF), recordedObserverSchema]);
export const rulesDigestSchema = z
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

const settings = {
  id: sourceIdSchema,
  url: sourceUrl,
  name: newSourceSchema.shape.name.unwrap(),
  agency: newSourceSchema.shape.agency.unwrap(),
  tags: newSourceSchema.shape.tags.unwrap(),
  every_minutes: newSourceSchema.shape.every_minutes.unwrap(),
  max_object_mb: newSourceSchema.shape.max_object_mb.unwrap(),
};

/** Settings that came later. A revision has only those that are set. */
const laterSettings = {
  every: cronSchema,
  time_zone: timeZoneSchema,
  active_hours: activeHoursSchema,
  follow: followSchema,
  found_in: sourceIdSchema,
  capture: z.enum(CAPTURE_MODES),
  picture_events: newSourceSchema.shape.picture_events.unwrap().unwrap(),
  keep_days: newSourceSchema.shape.keep_days.unwrap().unwrap(),
  watch: watchSchema,
};

const sourceSchema = line('source', {
  key: number,
  ...settings,
  ignore_robots: flag,
  paused: flag,
  removed: flag,
  added_at: instantSchema,
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
  rules_digest: rulesDigestSchema.nullable().optional(),
  // Dumps from before schedules and followed sources existed have none of these.
  every: laterSettings.every.nullable().optional(),
  time_zone: laterSettings.time_zone.nullable().optional(),
  active_hours: laterSettings.active_hours.nullable().optional(),
  follow: laterSettings.follow.nullable().optional(),
  found_in: laterSettings.found_in.nullable().optional(),
  // Dumps from before page captures existed have none of these.
  capture: laterSettings.capture.optional(),
  picture_events: laterSettings.picture_events.nullable().optional(),
  page_error: z.enum(PAGE_ERRORS).nullable().optional(),
  // Dumps from before bytes could be released have none.
  keep_days: laterSettings.keep_days.nullable().optional(),
  // Dumps from before profiles existed have none. A dump never has the profile itself.
  needs_login: flag.optional(),
  // Dumps from before a part could be watched have none.
  watch: laterSettings.watch.nullable().optional(),
  header_names: headerNames,
});

const HEADER_NAMES = 'json((SELECT json_group_array(h.key) FROM json_each(headers) h))';
const JSON_COLUMNS = ['tags', 'noise_rules', 'watch', 'active_hours', 'follow'];

const source = kind({
  schema: sourceSchema,
  rows: {
    from: 'sources',
    order: 'key',
    // The values of headers may be secrets, and a dump is public.
    expressions: { header_names: HEADER_NAMES },
    json: JSON_COLUMNS,
  },
  order: ({ key }) => key,
  check: checkSource,
  restore: (database, { kind: _kind, header_names, ...value }) => {
    // The owner must set the values of the headers again.
    const headers = Object.fromEntries(header_names.map((name) => [name, '']));
    const members = [...Object.keys(sourceSchema.shape), 'headers'].filter(
      (name) => name !== 'kind' && name !== 'header_names',
    );
    const rows = { from: 'sources', order: 'key', members, json: [...JSON_COLUMNS, 'headers'] };
    restoreRow(database, rows, {
      ...value,
      capture: value.capture ?? 'object',
      needs_login: value.needs_login ?? 0,
      headers,
    });
    const restored = sourceByKey(database, value.key);
    if (restored) indexSource(database, restored.key, restored);
  },
});

type SourceLine = z.output<typeof sourceSchema>;

/** Checks the line of a source: its settings must be those of its newest revision, and its state must be possible. */
function checkSource(archive: DumpedArchive, source: SourceLine, at: number): void {
  const { key, id, url, revision, noise_rules, watch, rules_digest, last_sha256, last_event_type } = source;
  requireThat(id === sourceIdOf(url), 'its id is not that of its URL.', at);
  requireThat(
    !archive.sources.has(key) && !archive.sourceKeys.has(id),
    'an earlier line defines this source.',
    at,
  );
  const type = archive.ledger.typeOf(revision);
  requireThat(
    (type === 'source.added' || type === 'source.changed') &&
      archive.ledger.digestOf(revision) === fingerprintOf(recordOf(source)),
    `it was altered: it differs from what entry ${revision} recorded.`,
    at,
  );
  requireThat(
    (rules_digest ?? null) === scopeDigest({ watch: watch ?? null, rules: noise_rules ?? [] }),
    'its rules_digest is not that of its watched part and its noise_rules.',
    at,
  );
  checkState(source, at);
  archive.sources.set(key, {
    key,
    id,
    url,
    line: at,
    declared: { revision, last_sha256, last_event_type },
    found: { revision: 0, last_sha256: null, last_event_type: null },
    retrieved: [],
  });
  archive.sourceKeys.set(id, key);
}

function recordOf({ header_names, noise_rules, ignore_robots, paused, removed, ...settings }: SourceLine) {
  return recordedSource({
    ...settings,
    headers: Object.fromEntries(header_names.map((name) => [name, ''])),
    noise_rules: noise_rules ?? [],
    watch: settings.watch ?? null,
    every: settings.every ?? null,
    time_zone: settings.time_zone ?? null,
    active_hours: settings.active_hours ?? null,
    follow: settings.follow ?? null,
    found_in: settings.found_in ?? null,
    capture: settings.capture ?? 'object',
    picture_events: settings.picture_events ?? null,
    keep_days: settings.keep_days ?? null,
    needs_login: settings.needs_login === 1,
    profile: null,
    ignore_robots: ignore_robots === 1,
    paused: paused === 1,
    removed: removed === 1,
    // Neither in the ledger nor in the dump.
    allow_private: null,
  });
}

function checkState(source: SourceLine, at: number): void {
  const { state, last_event_type, failures, consecutive, failing_since } = source;
  requireThat(state === stateAfter(last_event_type), 'its state does not match its last event.', at);
  requireThat(
    failures <= consecutive && (consecutive === 0) === (failing_since === null),
    'its failures contradict each other.',
    at,
  );
}

const sourceRevision = recorded({
  schema: line('source_revision', {
    ledger_entry: number,
    source_key: number,
    record: z.strictObject({
      ...settings,
      header_names: headerNames,
      added_at: instantSchema,
      ignore_robots: z.boolean(),
      paused: z.boolean(),
      removed: z.boolean(),
      noise_rules: noiseRulesSchema.optional(),
      every: laterSettings.every.optional(),
      time_zone: laterSettings.time_zone.optional(),
      active_hours: laterSettings.active_hours.optional(),
      follow: laterSettings.follow.optional(),
      found_in: laterSettings.found_in.optional(),
      capture: laterSettings.capture.optional(),
      picture_events: laterSettings.picture_events.optional(),
      keep_days: laterSettings.keep_days.optional(),
      watch: laterSettings.watch.optional(),
      login: z.literal(true).optional(),
    }),
  }),
  rows: { from: 'source_revisions', json: ['record'] },
  types: ['source.added', 'source.changed'],
  digest: ({ record }) => fingerprintOf(record),
  check: (archive, { ledger_entry, source_key, record }, at) => {
    const of = archive.source(source_key, at);
    requireThat(record.id === of.id && record.url === of.url, 'it belongs to another source.', at);
    of.found.revision = ledger_entry;
  },
});

const round = kind({
  schema: line('round', {
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
  }),
  rows: { from: 'rounds', order: 'id' },
  order: ({ id }) => id,
  check: ({ rounds }, { id }) => rounds.add(id),
});

/** The sources, and the rounds in which they were looked at. */
export const SOURCE_KINDS: Readonly<Record<string, DumpKind>> = {
  source,
  source_revision: sourceRevision,
  round,
};
